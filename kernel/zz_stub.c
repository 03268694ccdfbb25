#include "tree.h"
#include "kstring.h"
#include "arch/acpi.h"
static struct tree_node *nodes[100]; static const char *paths[100]; static unsigned n;
bool cpio_recognise(const void *a, uint64_t b){(void)a;(void)b;return false;}
int cpio_next(const void *archive, uint64_t bytes, uint64_t *offset, struct cpio_entry *entry, struct message *why){(void)archive;(void)bytes;(void)offset;(void)entry;(void)why;return 0;}
int tree_initialise(struct tree *t){t->root=t->node_allocate(t->context);t->root->mode=0040755;t->root->parent=t->root;t->root->name="";return 0;}
int tree_add_archive(struct tree *tree, const void *archive, uint64_t bytes, struct message *why){(void)tree;(void)archive;(void)bytes;(void)why;return -1;}
struct tree_node *tree_add(struct tree *tree, const char *path, uint32_t mode, const void *data, uint64_t bytes, struct message *why){(void)why;
 struct tree_node*d=tree->node_allocate(tree->context);d->mode=mode;d->data=data;d->bytes=bytes;d->parent=tree->root;d->name=path+1;d->name_bytes=(uint32_t)strlen(path+1);d->next=tree->root->child;tree->root->child=d;nodes[n]=d;paths[n++]=path;return d;}
int tree_lookup(const struct tree *tree, struct tree_node *directory, const char *path, bool f, struct tree_node **out){(void)directory;(void)f;if(!strcmp(path,"/")){*out=tree->root;return 0;}for(unsigned i=0;i<n;i++)if(!strcmp(paths[i],path)){*out=nodes[i];return 0;}return -2;}
int64_t tree_path(const struct tree *tree, const struct tree_node *node, char *buffer, size_t bytes){(void)tree;(void)node;(void)bytes;buffer[0]='/';buffer[1]=0;return 1;}
int acpi_parse(const struct boot_info *info, physical_reader *read, void *context, struct acpi_facts *out, struct message *why){(void)info;(void)read;(void)context;(void)why;out->pm1a_control_port=0x604;out->soft_off_known=true;out->pm_timer_port=0x608;out->hpet_address=0xfed00000;return 0;}
