/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi.h: MPI for Tacet's nodes and for Linux, with the names and meanings of the standard, version 3.1.
 *
 * Handles are pointers. Predefined handles are addresses of the library's objects, which are constants in C.
 * mpi_functions.h declares the functions, each with what it does and the chapter that defines it. It also
 * declares the functions of MPI that this library does not support: programs that call them link, but the
 * call ends the job with a message that names the function.
 *
 * Source: MPI: A Message-Passing Interface Standard, version 3.1. The values of constants are ours.
 */
#ifndef MPI_H
#define MPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define MPI_VERSION    3
#define MPI_SUBVERSION 1

/* ---- Handles and other types ---- */

typedef struct mpi_comm *MPI_Comm;
typedef struct mpi_group *MPI_Group;
typedef struct mpi_datatype *MPI_Datatype;
typedef struct mpi_op *MPI_Op;
typedef struct mpi_request *MPI_Request;
typedef struct mpi_message *MPI_Message;
typedef struct mpi_errhandler *MPI_Errhandler;
typedef struct mpi_info *MPI_Info;
typedef struct mpi_win *MPI_Win;
typedef struct mpi_file *MPI_File;

typedef intptr_t MPI_Aint;
typedef long long MPI_Offset;
typedef long long MPI_Count;
typedef int MPI_Fint;

/* The result of a receive, a probe or a completion. MPI_Get_count reads the bytes. 6 integers in Fortran. */
typedef struct MPI_Status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
    int mpi_lite_cancelled;
    unsigned long long mpi_lite_bytes;
} MPI_Status;

typedef void MPI_User_function(void *from, void *to, int *count, MPI_Datatype *datatype);
typedef void MPI_Comm_errhandler_function(MPI_Comm *comm, int *error, ...);
typedef void MPI_Win_errhandler_function(MPI_Win *win, int *error, ...);
typedef void MPI_File_errhandler_function(MPI_File *file, int *error, ...);
typedef MPI_Comm_errhandler_function MPI_Handler_function, MPI_Comm_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef int MPI_Comm_copy_attr_function(MPI_Comm comm, int keyval, void *state, void *from, void *to,
                                        int *flag);
typedef int MPI_Comm_delete_attr_function(MPI_Comm comm, int keyval, void *value, void *state);
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
typedef int MPI_Type_copy_attr_function(MPI_Datatype type, int keyval, void *state, void *from, void *to,
                                        int *flag);
typedef int MPI_Type_delete_attr_function(MPI_Datatype type, int keyval, void *value, void *state);
typedef int MPI_Win_copy_attr_function(MPI_Win win, int keyval, void *state, void *from, void *to, int *flag);
typedef int MPI_Win_delete_attr_function(MPI_Win win, int keyval, void *value, void *state);
typedef int MPI_Grequest_query_function(void *state, MPI_Status *status);
typedef int MPI_Grequest_free_function(void *state);
typedef int MPI_Grequest_cancel_function(void *state, int complete);
typedef int MPI_Datarep_conversion_function(void *user, MPI_Datatype type, int count, void *file,
                                            MPI_Offset position, void *state);
typedef int MPI_Datarep_extent_function(MPI_Datatype type, MPI_Aint *extent, void *state);

/* Types of the tool interface: enumerations, variables' handles, sessions. */
typedef struct mpi_t_enum *MPI_T_enum;
typedef struct mpi_t_cvar *MPI_T_cvar_handle;
typedef struct mpi_t_pvar *MPI_T_pvar_handle;
typedef struct mpi_t_session *MPI_T_pvar_session;

/* ---- Data types ---- */

/* Types of C and C++. */
extern struct mpi_datatype mpi_lite_type_char, mpi_lite_type_signed_char, mpi_lite_type_unsigned_char,
    mpi_lite_type_short, mpi_lite_type_unsigned_short, mpi_lite_type_int, mpi_lite_type_unsigned,
    mpi_lite_type_long, mpi_lite_type_unsigned_long, mpi_lite_type_long_long,
    mpi_lite_type_unsigned_long_long, mpi_lite_type_float, mpi_lite_type_double, mpi_lite_type_long_double,
    mpi_lite_type_wchar, mpi_lite_type_c_bool, mpi_lite_type_c_float_complex, mpi_lite_type_c_double_complex,
    mpi_lite_type_c_long_double_complex, mpi_lite_type_int8_t, mpi_lite_type_int16_t, mpi_lite_type_int32_t,
    mpi_lite_type_int64_t, mpi_lite_type_uint8_t, mpi_lite_type_uint16_t, mpi_lite_type_uint32_t,
    mpi_lite_type_uint64_t, mpi_lite_type_aint, mpi_lite_type_count, mpi_lite_type_offset, mpi_lite_type_byte,
    mpi_lite_type_packed, mpi_lite_type_cxx_bool, mpi_lite_type_cxx_float_complex,
    mpi_lite_type_cxx_double_complex, mpi_lite_type_cxx_long_double_complex;
#define MPI_CHAR                    (&mpi_lite_type_char)
#define MPI_SIGNED_CHAR             (&mpi_lite_type_signed_char)
#define MPI_UNSIGNED_CHAR           (&mpi_lite_type_unsigned_char)
#define MPI_SHORT                   (&mpi_lite_type_short)
#define MPI_UNSIGNED_SHORT          (&mpi_lite_type_unsigned_short)
#define MPI_INT                     (&mpi_lite_type_int)
#define MPI_UNSIGNED                (&mpi_lite_type_unsigned)
#define MPI_LONG                    (&mpi_lite_type_long)
#define MPI_UNSIGNED_LONG           (&mpi_lite_type_unsigned_long)
#define MPI_LONG_LONG               (&mpi_lite_type_long_long)
#define MPI_UNSIGNED_LONG_LONG      (&mpi_lite_type_unsigned_long_long)
#define MPI_FLOAT                   (&mpi_lite_type_float)
#define MPI_DOUBLE                  (&mpi_lite_type_double)
#define MPI_LONG_DOUBLE             (&mpi_lite_type_long_double)
#define MPI_WCHAR                   (&mpi_lite_type_wchar)
#define MPI_C_BOOL                  (&mpi_lite_type_c_bool)
#define MPI_C_FLOAT_COMPLEX         (&mpi_lite_type_c_float_complex)
#define MPI_C_DOUBLE_COMPLEX        (&mpi_lite_type_c_double_complex)
#define MPI_C_LONG_DOUBLE_COMPLEX   (&mpi_lite_type_c_long_double_complex)
#define MPI_INT8_T                  (&mpi_lite_type_int8_t)
#define MPI_INT16_T                 (&mpi_lite_type_int16_t)
#define MPI_INT32_T                 (&mpi_lite_type_int32_t)
#define MPI_INT64_T                 (&mpi_lite_type_int64_t)
#define MPI_UINT8_T                 (&mpi_lite_type_uint8_t)
#define MPI_UINT16_T                (&mpi_lite_type_uint16_t)
#define MPI_UINT32_T                (&mpi_lite_type_uint32_t)
#define MPI_UINT64_T                (&mpi_lite_type_uint64_t)
#define MPI_AINT                    (&mpi_lite_type_aint)
#define MPI_COUNT                   (&mpi_lite_type_count)
#define MPI_OFFSET                  (&mpi_lite_type_offset)
#define MPI_BYTE                    (&mpi_lite_type_byte)
#define MPI_PACKED                  (&mpi_lite_type_packed)
#define MPI_CXX_BOOL                (&mpi_lite_type_cxx_bool)
#define MPI_CXX_FLOAT_COMPLEX       (&mpi_lite_type_cxx_float_complex)
#define MPI_CXX_DOUBLE_COMPLEX      (&mpi_lite_type_cxx_double_complex)
#define MPI_CXX_LONG_DOUBLE_COMPLEX (&mpi_lite_type_cxx_long_double_complex)

/* Types of Fortran. */
extern struct mpi_datatype mpi_lite_type_integer, mpi_lite_type_real, mpi_lite_type_double_precision,
    mpi_lite_type_complex, mpi_lite_type_double_complex, mpi_lite_type_logical, mpi_lite_type_character,
    mpi_lite_type_integer1, mpi_lite_type_integer2, mpi_lite_type_integer4, mpi_lite_type_integer8,
    mpi_lite_type_real4, mpi_lite_type_real8, mpi_lite_type_real16, mpi_lite_type_complex8,
    mpi_lite_type_complex16, mpi_lite_type_complex32;
#define MPI_INTEGER          (&mpi_lite_type_integer)
#define MPI_REAL             (&mpi_lite_type_real)
#define MPI_DOUBLE_PRECISION (&mpi_lite_type_double_precision)
#define MPI_COMPLEX          (&mpi_lite_type_complex)
#define MPI_DOUBLE_COMPLEX   (&mpi_lite_type_double_complex)
#define MPI_LOGICAL          (&mpi_lite_type_logical)
#define MPI_CHARACTER        (&mpi_lite_type_character)
#define MPI_INTEGER1         (&mpi_lite_type_integer1)
#define MPI_INTEGER2         (&mpi_lite_type_integer2)
#define MPI_INTEGER4         (&mpi_lite_type_integer4)
#define MPI_INTEGER8         (&mpi_lite_type_integer8)
#define MPI_REAL4            (&mpi_lite_type_real4)
#define MPI_REAL8            (&mpi_lite_type_real8)
#define MPI_REAL16           (&mpi_lite_type_real16)
#define MPI_COMPLEX8         (&mpi_lite_type_complex8)
#define MPI_COMPLEX16        (&mpi_lite_type_complex16)
#define MPI_COMPLEX32        (&mpi_lite_type_complex32)

/* Pairs for MPI_MINLOC and MPI_MAXLOC. */
extern struct mpi_datatype mpi_lite_type_float_int, mpi_lite_type_double_int, mpi_lite_type_long_int,
    mpi_lite_type_2int, mpi_lite_type_short_int, mpi_lite_type_long_double_int, mpi_lite_type_2real,
    mpi_lite_type_2double_precision, mpi_lite_type_2integer;
#define MPI_FLOAT_INT         (&mpi_lite_type_float_int)
#define MPI_DOUBLE_INT        (&mpi_lite_type_double_int)
#define MPI_LONG_INT          (&mpi_lite_type_long_int)
#define MPI_2INT              (&mpi_lite_type_2int)
#define MPI_SHORT_INT         (&mpi_lite_type_short_int)
#define MPI_LONG_DOUBLE_INT   (&mpi_lite_type_long_double_int)
#define MPI_2REAL             (&mpi_lite_type_2real)
#define MPI_2DOUBLE_PRECISION (&mpi_lite_type_2double_precision)
#define MPI_2INTEGER          (&mpi_lite_type_2integer)

/* Markers of MPI-1 (deprecated; MPI_Type_create_resized does their work). */
extern struct mpi_datatype mpi_lite_type_lb, mpi_lite_type_ub;
#define MPI_LB (&mpi_lite_type_lb)
#define MPI_UB (&mpi_lite_type_ub)

/* Second names of types. */
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_C_COMPLEX     MPI_C_FLOAT_COMPLEX
#define MPI_DATATYPE_NULL ((MPI_Datatype)0)

/* ---- Operations ---- */

extern struct mpi_op mpi_lite_op_max, mpi_lite_op_min, mpi_lite_op_sum, mpi_lite_op_prod, mpi_lite_op_land,
    mpi_lite_op_band, mpi_lite_op_lor, mpi_lite_op_bor, mpi_lite_op_lxor, mpi_lite_op_bxor,
    mpi_lite_op_minloc, mpi_lite_op_maxloc, mpi_lite_op_replace, mpi_lite_op_no_op;
#define MPI_MAX     (&mpi_lite_op_max)
#define MPI_MIN     (&mpi_lite_op_min)
#define MPI_SUM     (&mpi_lite_op_sum)
#define MPI_PROD    (&mpi_lite_op_prod)
#define MPI_LAND    (&mpi_lite_op_land)
#define MPI_BAND    (&mpi_lite_op_band)
#define MPI_LOR     (&mpi_lite_op_lor)
#define MPI_BOR     (&mpi_lite_op_bor)
#define MPI_LXOR    (&mpi_lite_op_lxor)
#define MPI_BXOR    (&mpi_lite_op_bxor)
#define MPI_MINLOC  (&mpi_lite_op_minloc)
#define MPI_MAXLOC  (&mpi_lite_op_maxloc)
#define MPI_REPLACE (&mpi_lite_op_replace)
#define MPI_NO_OP   (&mpi_lite_op_no_op)
#define MPI_OP_NULL ((MPI_Op)0)

/* ---- Other predefined objects ---- */

extern struct mpi_comm mpi_lite_comm_world, mpi_lite_comm_self;
extern struct mpi_group mpi_lite_group_empty;
extern struct mpi_errhandler mpi_lite_errors_are_fatal, mpi_lite_errors_return;
extern struct mpi_info mpi_lite_info_env;
extern struct mpi_message mpi_lite_message_no_proc;
#define MPI_COMM_WORLD       (&mpi_lite_comm_world)
#define MPI_COMM_SELF        (&mpi_lite_comm_self)
#define MPI_COMM_NULL        ((MPI_Comm)0)
#define MPI_GROUP_EMPTY      (&mpi_lite_group_empty)
#define MPI_GROUP_NULL       ((MPI_Group)0)
#define MPI_ERRORS_ARE_FATAL (&mpi_lite_errors_are_fatal)
#define MPI_ERRORS_RETURN    (&mpi_lite_errors_return)
#define MPI_ERRHANDLER_NULL  ((MPI_Errhandler)0)
#define MPI_INFO_ENV         (&mpi_lite_info_env)
#define MPI_INFO_NULL        ((MPI_Info)0)
#define MPI_MESSAGE_NO_PROC  (&mpi_lite_message_no_proc)
#define MPI_MESSAGE_NULL     ((MPI_Message)0)
#define MPI_REQUEST_NULL     ((MPI_Request)0)
#define MPI_WIN_NULL         ((MPI_Win)0)
#define MPI_FILE_NULL        ((MPI_File)0)

/* ---- Constants ---- */

#define MPI_BOTTOM          ((void *)0)
#define MPI_IN_PLACE        ((void *)-1)
#define MPI_STATUS_IGNORE   ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_ERRCODES_IGNORE ((int *)0)
#define MPI_ARGV_NULL       ((char **)0)
#define MPI_ARGVS_NULL      ((char ***)0)
#define MPI_UNWEIGHTED      mpi_lite_unweighted
#define MPI_WEIGHTS_EMPTY   mpi_lite_weights_empty

/* Passed instead of weights (§7.5.4); they have no elements. */
extern int mpi_lite_unweighted[], mpi_lite_weights_empty[];

/* Fortran's MPI_STATUS_IGNORE, for MPI_Status_f2c: a C function called from Fortran may receive these
 * addresses. */
#define MPI_F_STATUS_IGNORE   (mpi_lite_status_ignore_)
#define MPI_F_STATUSES_IGNORE (mpi_lite_statuses_ignore_)
extern MPI_Fint mpi_lite_status_ignore_[6], mpi_lite_statuses_ignore_[6];

/* Values that stand for no rank, tag, colour or key, or for any. */
#define MPI_ANY_SOURCE     -1
#define MPI_PROC_NULL      -2
#define MPI_ROOT           -3
#define MPI_ANY_TAG        -1
#define MPI_UNDEFINED      -32766
#define MPI_KEYVAL_INVALID -1

/* Maximum sizes of strings in bytes, with their NUL. */
#define MPI_MAX_PROCESSOR_NAME         256
#define MPI_MAX_ERROR_STRING           512
#define MPI_MAX_OBJECT_NAME            128
#define MPI_MAX_LIBRARY_VERSION_STRING 256
#define MPI_MAX_INFO_KEY               256
#define MPI_MAX_INFO_VAL               1024
#define MPI_MAX_PORT_NAME              256
#define MPI_MAX_DATAREP_STRING         128

/* Bytes of the attached buffer that a buffered send takes in addition to its data. */
#define MPI_BSEND_OVERHEAD 64

/* Levels of MPI_Init_thread. */
#define MPI_THREAD_SINGLE     0
#define MPI_THREAD_FUNNELED   1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE   3

/* Results of MPI_Comm_compare and MPI_Group_compare. */
#define MPI_IDENT     0
#define MPI_CONGRUENT 1
#define MPI_SIMILAR   2
#define MPI_UNEQUAL   3

/* Topologies; kinds of MPI_Comm_split_type. */
#define MPI_CART             1
#define MPI_GRAPH            2
#define MPI_DIST_GRAPH       3
#define MPI_COMM_TYPE_SHARED 1

/* How a data type was made. */
#define MPI_COMBINER_NAMED            1
#define MPI_COMBINER_DUP              2
#define MPI_COMBINER_CONTIGUOUS       3
#define MPI_COMBINER_VECTOR           4
#define MPI_COMBINER_HVECTOR_INTEGER  5
#define MPI_COMBINER_HVECTOR          6
#define MPI_COMBINER_INDEXED          7
#define MPI_COMBINER_HINDEXED_INTEGER 8
#define MPI_COMBINER_HINDEXED         9
#define MPI_COMBINER_INDEXED_BLOCK    10
#define MPI_COMBINER_HINDEXED_BLOCK   11
#define MPI_COMBINER_STRUCT_INTEGER   12
#define MPI_COMBINER_STRUCT           13
#define MPI_COMBINER_SUBARRAY         14
#define MPI_COMBINER_DARRAY           15
#define MPI_COMBINER_F90_REAL         16
#define MPI_COMBINER_F90_COMPLEX      17
#define MPI_COMBINER_F90_INTEGER      18
#define MPI_COMBINER_RESIZED          19

/* Orders of MPI_Type_create_subarray; distributions of MPI_Type_create_darray; classes of
 * MPI_Type_match_size. */
#define MPI_ORDER_C              1
#define MPI_ORDER_FORTRAN        2
#define MPI_DISTRIBUTE_BLOCK     1
#define MPI_DISTRIBUTE_CYCLIC    2
#define MPI_DISTRIBUTE_NONE      3
#define MPI_DISTRIBUTE_DFLT_DARG (-1)
#define MPI_TYPECLASS_REAL       1
#define MPI_TYPECLASS_INTEGER    2
#define MPI_TYPECLASS_COMPLEX    3

/* Attributes of MPI_COMM_WORLD, and of windows. */
#define MPI_TAG_UB            1
#define MPI_HOST              2
#define MPI_IO                3
#define MPI_WTIME_IS_GLOBAL   4
#define MPI_UNIVERSE_SIZE     5
#define MPI_APPNUM            6
#define MPI_LASTUSEDCODE      7
#define MPI_WIN_BASE          8
#define MPI_WIN_SIZE          9
#define MPI_WIN_DISP_UNIT     10
#define MPI_WIN_CREATE_FLAVOR 11
#define MPI_WIN_MODEL         12

/* Windows: flavors, models, locks, assertions. */
#define MPI_WIN_FLAVOR_CREATE   1
#define MPI_WIN_FLAVOR_ALLOCATE 2
#define MPI_WIN_FLAVOR_DYNAMIC  3
#define MPI_WIN_FLAVOR_SHARED   4
#define MPI_WIN_SEPARATE        1
#define MPI_WIN_UNIFIED         2
#define MPI_LOCK_EXCLUSIVE      1
#define MPI_LOCK_SHARED         2
#define MPI_MODE_NOCHECK        1
#define MPI_MODE_NOSTORE        2
#define MPI_MODE_NOPUT          4
#define MPI_MODE_NOPRECEDE      8
#define MPI_MODE_NOSUCCEED      16

/* Files: this library has no MPI-IO. The constants let programs compile that mention it. */
#define MPI_MODE_CREATE          1
#define MPI_MODE_RDONLY          2
#define MPI_MODE_WRONLY          4
#define MPI_MODE_RDWR            8
#define MPI_MODE_DELETE_ON_CLOSE 16
#define MPI_MODE_UNIQUE_OPEN     32
#define MPI_MODE_EXCL            64
#define MPI_MODE_APPEND          128
#define MPI_MODE_SEQUENTIAL      256
#define MPI_SEEK_SET             0
#define MPI_SEEK_CUR             1
#define MPI_SEEK_END             2
#define MPI_DISPLACEMENT_CURRENT (-54278278)

/* Predefined copy and delete functions of attributes. */
#define MPI_COMM_NULL_COPY_FN   ((MPI_Comm_copy_attr_function *)0)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0)
#define MPI_COMM_DUP_FN         ((MPI_Comm_copy_attr_function *)MPI_LITE_DUP)
#define MPI_TYPE_NULL_COPY_FN   ((MPI_Type_copy_attr_function *)0)
#define MPI_TYPE_NULL_DELETE_FN ((MPI_Type_delete_attr_function *)0)
#define MPI_TYPE_DUP_FN         ((MPI_Type_copy_attr_function *)MPI_LITE_DUP)
#define MPI_WIN_NULL_COPY_FN    ((MPI_Win_copy_attr_function *)0)
#define MPI_WIN_NULL_DELETE_FN  ((MPI_Win_delete_attr_function *)0)
#define MPI_WIN_DUP_FN          ((MPI_Win_copy_attr_function *)MPI_LITE_DUP)
#define MPI_NULL_COPY_FN        MPI_COMM_NULL_COPY_FN
#define MPI_NULL_DELETE_FN      MPI_COMM_NULL_DELETE_FN
#define MPI_DUP_FN              MPI_COMM_DUP_FN
#define MPI_LITE_DUP            ((void *)1) /* instead of a function: the attribute is copied */
#define MPI_CONVERSION_FN_NULL  ((MPI_Datarep_conversion_function *)0)

/* The tool interface: null handles, the handle of all; verbosities; what a variable is bound to; the scope in
 * which a control variable is set; classes of performance variables. */
extern struct mpi_t_all_handles mpi_lite_all_handles;
#define MPI_T_ENUM_NULL                ((MPI_T_enum)0)
#define MPI_T_CVAR_HANDLE_NULL         ((MPI_T_cvar_handle)0)
#define MPI_T_PVAR_HANDLE_NULL         ((MPI_T_pvar_handle)0)
#define MPI_T_PVAR_SESSION_NULL        ((MPI_T_pvar_session)0)
#define MPI_T_PVAR_ALL_HANDLES         ((MPI_T_pvar_handle)(void *)&mpi_lite_all_handles)
#define MPI_T_VERBOSITY_USER_BASIC     1
#define MPI_T_VERBOSITY_USER_DETAIL    2
#define MPI_T_VERBOSITY_USER_ALL       3
#define MPI_T_VERBOSITY_TUNER_BASIC    4
#define MPI_T_VERBOSITY_TUNER_DETAIL   5
#define MPI_T_VERBOSITY_TUNER_ALL      6
#define MPI_T_VERBOSITY_MPIDEV_BASIC   7
#define MPI_T_VERBOSITY_MPIDEV_DETAIL  8
#define MPI_T_VERBOSITY_MPIDEV_ALL     9
#define MPI_T_BIND_NO_OBJECT           0
#define MPI_T_BIND_MPI_COMM            1
#define MPI_T_BIND_MPI_DATATYPE        2
#define MPI_T_BIND_MPI_ERRHANDLER      3
#define MPI_T_BIND_MPI_FILE            4
#define MPI_T_BIND_MPI_GROUP           5
#define MPI_T_BIND_MPI_OP              6
#define MPI_T_BIND_MPI_REQUEST         7
#define MPI_T_BIND_MPI_WIN             8
#define MPI_T_BIND_MPI_MESSAGE         9
#define MPI_T_BIND_MPI_INFO            10
#define MPI_T_SCOPE_CONSTANT           0
#define MPI_T_SCOPE_READONLY           1
#define MPI_T_SCOPE_LOCAL              2
#define MPI_T_SCOPE_GROUP              3
#define MPI_T_SCOPE_GROUP_EQ           4
#define MPI_T_SCOPE_ALL                5
#define MPI_T_SCOPE_ALL_EQ             6
#define MPI_T_PVAR_CLASS_STATE         0
#define MPI_T_PVAR_CLASS_LEVEL         1
#define MPI_T_PVAR_CLASS_SIZE          2
#define MPI_T_PVAR_CLASS_PERCENTAGE    3
#define MPI_T_PVAR_CLASS_HIGHWATERMARK 4
#define MPI_T_PVAR_CLASS_LOWWATERMARK  5
#define MPI_T_PVAR_CLASS_COUNTER       6
#define MPI_T_PVAR_CLASS_AGGREGATE     7
#define MPI_T_PVAR_CLASS_TIMER         8
#define MPI_T_PVAR_CLASS_GENERIC       9

/* Error classes; MPI_Error_string returns the text of each. */
#define MPI_SUCCESS                   0
#define MPI_ERR_BUFFER                1
#define MPI_ERR_COUNT                 2
#define MPI_ERR_TYPE                  3
#define MPI_ERR_TAG                   4
#define MPI_ERR_COMM                  5
#define MPI_ERR_RANK                  6
#define MPI_ERR_REQUEST               7
#define MPI_ERR_ROOT                  8
#define MPI_ERR_GROUP                 9
#define MPI_ERR_OP                    10
#define MPI_ERR_TOPOLOGY              11
#define MPI_ERR_DIMS                  12
#define MPI_ERR_ARG                   13
#define MPI_ERR_UNKNOWN               14
#define MPI_ERR_TRUNCATE              15
#define MPI_ERR_OTHER                 16
#define MPI_ERR_INTERN                17
#define MPI_ERR_IN_STATUS             18
#define MPI_ERR_PENDING               19
#define MPI_ERR_ACCESS                20
#define MPI_ERR_AMODE                 21
#define MPI_ERR_ASSERT                22
#define MPI_ERR_BAD_FILE              23
#define MPI_ERR_BASE                  24
#define MPI_ERR_CONVERSION            25
#define MPI_ERR_DISP                  26
#define MPI_ERR_DUP_DATAREP           27
#define MPI_ERR_FILE_EXISTS           28
#define MPI_ERR_FILE_IN_USE           29
#define MPI_ERR_FILE                  30
#define MPI_ERR_INFO_KEY              31
#define MPI_ERR_INFO_NOKEY            32
#define MPI_ERR_INFO_VALUE            33
#define MPI_ERR_INFO                  34
#define MPI_ERR_IO                    35
#define MPI_ERR_KEYVAL                36
#define MPI_ERR_LOCKTYPE              37
#define MPI_ERR_NAME                  38
#define MPI_ERR_NO_MEM                39
#define MPI_ERR_NOT_SAME              40
#define MPI_ERR_NO_SPACE              41
#define MPI_ERR_NO_SUCH_FILE          42
#define MPI_ERR_PORT                  43
#define MPI_ERR_QUOTA                 44
#define MPI_ERR_READ_ONLY             45
#define MPI_ERR_RMA_CONFLICT          46
#define MPI_ERR_RMA_SYNC              47
#define MPI_ERR_SERVICE               48
#define MPI_ERR_SIZE                  49
#define MPI_ERR_SPAWN                 50
#define MPI_ERR_UNSUPPORTED_DATAREP   51
#define MPI_ERR_UNSUPPORTED_OPERATION 52
#define MPI_ERR_WIN                   53
#define MPI_ERR_RMA_RANGE             54
#define MPI_ERR_RMA_ATTACH            55
#define MPI_ERR_RMA_SHARED            56
#define MPI_ERR_RMA_FLAVOR            57
/* Error classes of the tool interface; they call no error handler. */
#define MPI_T_ERR_INVALID           58
#define MPI_T_ERR_MEMORY            59
#define MPI_T_ERR_NOT_INITIALIZED   60
#define MPI_T_ERR_CANNOT_INIT       61
#define MPI_T_ERR_INVALID_INDEX     62
#define MPI_T_ERR_INVALID_ITEM      63
#define MPI_T_ERR_INVALID_HANDLE    64
#define MPI_T_ERR_INVALID_NAME      65
#define MPI_T_ERR_OUT_OF_HANDLES    66
#define MPI_T_ERR_OUT_OF_SESSIONS   67
#define MPI_T_ERR_INVALID_SESSION   68
#define MPI_T_ERR_CVAR_SET_NOT_NOW  69
#define MPI_T_ERR_CVAR_SET_NEVER    70
#define MPI_T_ERR_PVAR_NO_STARTSTOP 71
#define MPI_T_ERR_PVAR_NO_WRITE     72
#define MPI_T_ERR_PVAR_NO_ATOMIC    73
#define MPI_ERR_LASTCODE            0x3fffffff

#include "mpi_functions.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
