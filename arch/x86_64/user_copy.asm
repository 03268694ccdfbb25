; SPDX-License-Identifier: BSD-2-Clause
;
; user_copy.asm: the only instructions of the kernel that touch a program's memory.
;
; Each may fault at any byte: a range check does not see guard pages and read-only pages. The table that
; may_fault builds holds the addresses of these instructions; after a fault of one of them, trap_handle
; continues at user_copy_fault, which returns -EFAULT from the function. SMAP is lifted for just these
; instructions. Above each function stands its C prototype; it clobbers what C expects a call to clobber, and
; keeps nothing on the stack.

%include "offsets.inc"
%include "frame.inc"

bits 64
default rel

extern smap_enabled                             ; bool, cpu.c

section .text

; STAC before these instructions, CLAC after them.
%macro where_smap 1
    cmp byte [smap_enabled], 0
    je %%plain
    %1
%%plain:
%endmacro

global user_copy_fault
user_copy_fault:
    where_smap clac
    mov rax, EFAULT_RESULT
    ret

; long user_copy(void *to, const void *from, uint64_t bytes): 0 or -EFAULT
global user_copy
user_copy:
    where_smap stac
    mov rcx, rdx
    shr rcx, 3
.words:
    rep movsq
    mov ecx, edx
    and ecx, 7
.bytes:
    rep movsb
    xor eax, eax
    where_smap clac
    ret
may_fault user_copy.words
may_fault user_copy.bytes

; long user_zero(void *to, uint64_t bytes): 0 or -EFAULT
global user_zero
user_zero:
    where_smap stac
    xor eax, eax
    mov rcx, rsi
    shr rcx, 3
.words:
    rep stosq
    mov ecx, esi
    and ecx, 7
.bytes:
    rep stosb
    where_smap clac
    ret
may_fault user_zero.words
may_fault user_zero.bytes

; long user_copy_string(char *to, const char *from, uint64_t bytes)
; Length without NUL, `bytes` if there is none, or -EFAULT.
global user_copy_string
user_copy_string:
    where_smap stac
    xor eax, eax
.next:
    cmp rax, rdx
    je .end
.byte:
    mov cl, [rsi + rax]
    mov [rdi + rax], cl
    test cl, cl
    jz .end
    inc rax
    jmp .next
.end:
    where_smap clac
    ret
may_fault user_copy_string.byte

; long user_load_word(uint32_t *to, const uint32_t *from): 0 or -EFAULT; the word is read in one piece
global user_load_word
user_load_word:
    where_smap stac
.word:
    mov eax, [rsi]
    mov [rdi], eax
    xor eax, eax
    where_smap clac
    ret
may_fault user_load_word.word

; long user_swap_word(uint32_t *at, uint32_t *expected, uint32_t desired)
; 1 if the word was *expected and is `desired` now; 0 if it was another, which is stored in *expected; or
; -EFAULT.
global user_swap_word
user_swap_word:
    where_smap stac
    mov eax, [rsi]
.word:
    lock cmpxchg [rdi], edx
    mov [rsi], eax
    sete al
    movzx eax, al
    where_smap clac
    ret
may_fault user_swap_word.word

; void memory_zero(void *memory, uint64_t bytes): kernel memory
global memory_zero
memory_zero:
    xor eax, eax
    mov rcx, rsi
    shr rcx, 3
    rep stosq
    mov ecx, esi
    and ecx, 7
    rep stosb
    ret
