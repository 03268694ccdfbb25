! SPDX-License-Identifier: BSD-2-Clause
!
! objects.f90: groups, communicators, grids, names, attributes of MPI-1 and MPI-2, error handlers, hints and
! data types, with the module mpi. [MPI 3.1 chapters 4, 6, 7, 8, 9, and §17.1]
!
module callbacks
  use mpi
  implicit none
  integer :: copies = 0, deletions = 0, errors = 0, seen = MPI_SUCCESS

contains

  subroutine copy(comm, keyval, state, from, to, flag, ierror)
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: state, from, to
    logical :: flag

    copies = copies + 1
    if (state /= 2_MPI_ADDRESS_KIND**40) error stop 6
    to = from + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine remove(comm, keyval, value, state, ierror)
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, state

    deletions = deletions + 1
    if (state /= 2_MPI_ADDRESS_KIND**40) error stop 7
    ierror = MPI_SUCCESS
  end subroutine

  subroutine copy_1(comm, keyval, state, from, to, flag, ierror)
    integer :: comm, keyval, state, from, to, ierror
    logical :: flag

    if (state /= 5) error stop 8
    to = 2 * from
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine remove_1(comm, keyval, value, state, ierror)
    integer :: comm, keyval, value, state, ierror

    if (state /= 5) error stop 9
    deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine handler(comm, code)
    integer :: comm, code, ierror

    errors = errors + 1
    call MPI_Error_class(code, seen, ierror)
  end subroutine
end module

program objects
  use mpi
  use callbacks
  implicit none
  integer :: rank, size, error

  call MPI_Init_thread(MPI_THREAD_FUNNELED, rank, error)
  call holds("level", rank >= MPI_THREAD_SINGLE)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call environment()
  call groups()
  call communicators()
  call grids()
  call attributes()
  call attributes_1()
  call handlers()
  call wrong_handles()
  call hints()
  call data_types()
  call kinds()
  call MPI_Finalize(error)

contains

  subroutine environment()
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    character(len=4) :: short
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length, class, major, minor
    real(8) :: start
    logical :: flag

    call MPI_Initialized(flag, error)
    call holds("initialized", flag)
    call MPI_Get_processor_name(name, length, error)
    call check("length", length, len_trim(name))
    call MPI_Get_library_version(version, length, error)
    call holds("version", length > 0 .and. version(length + 1:) == " ")
    call MPI_Get_version(major, minor, error)
    call holds("of 3", major >= 3)
    call MPI_Error_string(MPI_ERR_RANK, text, length, error)
    call check("text", length, len_trim(text))
    call MPI_Comm_set_name(MPI_COMM_WORLD, "longer", error)
    call MPI_Comm_get_name(MPI_COMM_WORLD, short, length, error)
    call holds("cut", short == "long")
    call MPI_Error_class(MPI_ERR_TAG, class, error)
    call check("class", class, MPI_ERR_TAG)
    start = MPI_Wtime()
    call holds("clock", MPI_Wtime() >= start .and. MPI_Wtick() > 0)
    call MPI_Add_error_class(class, error)
    call MPI_Add_error_string(class, "of this program   ", error)
    call MPI_Error_string(class, text, length, error)
    call holds("own text", text == "of this program" .and. length == 15)
    call passed("environment")
  end subroutine

  subroutine groups()
    integer :: world, odd, rest, both, n, i, ranks(size), result, range(3, 1), translated(1)

    call MPI_Comm_group(MPI_COMM_WORLD, world, error)
    ranks = [(i, i = 0, size - 1)]
    call MPI_Group_incl(world, size / 2, ranks(2:size:2), odd, error)
    call MPI_Group_size(odd, n, error)
    call check("odd", n, size / 2)
    call MPI_Group_difference(world, odd, rest, error)
    call MPI_Group_union(odd, rest, both, error)
    call MPI_Group_compare(both, world, result, error)
    call holds("similar", result == merge(MPI_IDENT, MPI_SIMILAR, size == 1))
    range(:, 1) = [0, size - 1, 1]
    call MPI_Group_free(both, error)
    call MPI_Group_range_incl(world, 1, range, both, error)
    call MPI_Group_compare(both, world, result, error)
    call check("same", result, MPI_IDENT)
    call MPI_Group_translate_ranks(rest, 1, [0], world, translated, error)
    call check("translated", translated(1), 0)
    call MPI_Group_rank(world, n, error)
    call check("rank", n, rank)
    call MPI_Group_free(world, error)
    call MPI_Group_free(odd, error)
    call MPI_Group_free(rest, error)
    call MPI_Group_free(both, error)
    call check("free", both, MPI_GROUP_NULL)
    call passed("groups")
  end subroutine

  subroutine communicators()
    integer :: copy, half, none, result, n, length, i, comm
    character(len=MPI_MAX_OBJECT_NAME) :: name

    call MPI_Comm_dup(MPI_COMM_WORLD, copy, error)
    call MPI_Comm_compare(MPI_COMM_WORLD, copy, result, error)
    call check("congruent", result, MPI_CONGRUENT)
    call MPI_Comm_set_name(copy, "a copy", error)
    call MPI_Comm_get_name(copy, name, length, error)
    call holds("name", name == "a copy" .and. length == 6)
    call MPI_Comm_split(copy, mod(rank, 2), rank, half, error)
    call MPI_Comm_size(half, n, error)
    call check("half", n, (size + 1 - mod(rank, 2)) / 2)
    call MPI_Comm_split(copy, MPI_UNDEFINED, 0, none, error)
    call check("none", none, MPI_COMM_NULL)
    call MPI_Comm_free(half, error)
    call check("free", half, MPI_COMM_NULL)
    do i = 1, 200
      call MPI_Comm_dup(MPI_COMM_SELF, comm, error)
      call MPI_Comm_free(comm, error)
    end do
    call MPI_Comm_split_type(copy, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, half, error)
    call MPI_Comm_free(half, error)
    call MPI_Comm_free(copy, error)
    call passed("communicators")
  end subroutine

  subroutine grids()
    integer :: dims(2), grid, line, coords(2), n, from, to, got_dims(2)
    logical :: periods(2), got_periods(2)

    dims = 0
    call MPI_Dims_create(size, 2, dims, error)
    periods = [.true., .false.]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., grid, error)
    call MPI_Cart_get(grid, 2, got_dims, got_periods, coords, error)
    call holds("dims", got_dims(1) == dims(1) .and. got_dims(2) == dims(2))
    call holds("periods", got_periods(1) .and. .not. got_periods(2))
    call MPI_Cart_rank(grid, coords, n, error)
    call check("rank", n, rank)
    call MPI_Cart_shift(grid, 1, 1, from, to, error)
    if (coords(2) == 0) call check("edge", from, MPI_PROC_NULL)
    call MPI_Cart_sub(grid, [.false., .true.], line, error)
    call MPI_Comm_size(line, n, error)
    call check("line", n, dims(2))
    call MPI_Topo_test(grid, n, error)
    call check("topology", n, MPI_CART)
    call MPI_Comm_free(line, error)
    call MPI_Comm_free(grid, error)
    call passed("grids")
  end subroutine

  subroutine attributes()
    integer(kind=MPI_ADDRESS_KIND) :: value
    integer :: key, other, one, two, type
    logical :: flag

    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, error)
    call holds("tags", flag .and. value >= 32767)
    call MPI_Comm_create_keyval(copy, remove, key, 2_MPI_ADDRESS_KIND**40, error)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, other, 0_MPI_ADDRESS_KIND, error)
    call MPI_Comm_dup(MPI_COMM_WORLD, one, error)
    call MPI_Comm_get_attr(one, key, value, flag, error)
    call holds("none", .not. flag)
    call MPI_Comm_set_attr(one, key, 2_MPI_ADDRESS_KIND**50, error)
    call MPI_Comm_set_attr(one, other, -3_MPI_ADDRESS_KIND, error)
    call MPI_Comm_dup(one, two, error)
    call MPI_Comm_get_attr(two, key, value, flag, error)
    call holds("copied", flag .and. value == 2_MPI_ADDRESS_KIND**50 + 1)
    call MPI_Comm_get_attr(two, other, value, flag, error)
    call holds("duplicated", flag .and. value == -3)
    call MPI_Comm_delete_attr(one, key, error)
    call MPI_Comm_free(two, error)
    call MPI_Comm_free(one, error)
    call check("copies", copies, 1)
    call check("deletions", deletions, 2)
    call MPI_Comm_free_keyval(key, error)
    call check("key", key, MPI_KEYVAL_INVALID)
    call MPI_Comm_free_keyval(other, error)
    call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, &
                                error)
    call MPI_Type_contiguous(2, MPI_REAL, type, error)
    call MPI_Type_set_attr(type, key, 99_MPI_ADDRESS_KIND, error)
    call MPI_Type_dup(type, one, error)
    call MPI_Type_get_attr(one, key, value, flag, error)
    call holds("not copied", .not. flag)
    call MPI_Type_get_attr(type, key, value, flag, error)
    call holds("of a type", flag .and. value == 99)
    call MPI_Type_free(one, error)
    call MPI_Type_free(type, error)
    call MPI_Type_free_keyval(key, error)
    call passed("attributes")
  end subroutine

  subroutine attributes_1()
    integer :: key, other, one, two, value
    logical :: flag

    deletions = 0
    call MPI_Keyval_create(copy_1, remove_1, key, 5, error)
    call MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, other, 0, error)
    call MPI_Comm_dup(MPI_COMM_WORLD, one, error)
    call MPI_Attr_put(one, key, -7, error)
    call MPI_Attr_put(one, other, 1, error)
    call MPI_Comm_dup(one, two, error)
    call MPI_Attr_get(two, key, value, flag, error)
    call holds("doubled", flag .and. value == -14)
    call MPI_Attr_get(two, other, value, flag, error)
    call holds("not copied", .not. flag)
    call MPI_Attr_delete(two, key, error)
    call MPI_Comm_free(two, error)
    call MPI_Comm_free(one, error)
    call check("deletions", deletions, 2)
    call MPI_Keyval_free(key, error)
    call MPI_Keyval_free(other, error)
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, error)
    call holds("tags", flag .and. value >= 32767)
    call passed("attributes of MPI-1")
  end subroutine

  subroutine handlers()
    integer :: own, before, comm, code, class

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    call MPI_Comm_create_errhandler(handler, own, error)
    call MPI_Comm_set_errhandler(comm, own, error)
    call MPI_Comm_get_errhandler(comm, before, error)
    call MPI_Errhandler_free(before, error)
    call check("free", before, MPI_ERRHANDLER_NULL)
    call MPI_Send(rank, 1, MPI_INTEGER, size + 5, 0, comm, code)
    call check("called", errors, 1)
    call check("for", seen, MPI_ERR_RANK)
    call MPI_Error_class(code, class, error)
    call check("returned", class, MPI_ERR_RANK)
    call MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER, error)
    call check("called again", errors, 2)
    call MPI_Errhandler_free(own, error)
    call MPI_Send(rank, 1, MPI_INTEGER, 0, -9, comm, code)
    call check("for a tag", seen, MPI_ERR_TAG)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, error)
    call MPI_Send(rank, -1, MPI_INTEGER, 0, 1, comm, code)
    call MPI_Error_class(code, class, error)
    call check("a count", class, MPI_ERR_COUNT)
    call check("not called", errors, 3)
    call MPI_Comm_free(comm, error)
    call passed("handlers")
  end subroutine

  ! Numbers that are no handles, and handles of another kind.
  subroutine wrong_handles()
    integer :: n, class, code, request

    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
    call MPI_Comm_rank(12345, n, code)
    call MPI_Error_class(code, class, error)
    call check("comm", class, MPI_ERR_COMM)
    call MPI_Comm_rank(MPI_COMM_NULL, n, code)
    call MPI_Error_class(code, class, error)
    call check("no comm", class, MPI_ERR_COMM)
    call MPI_Comm_rank(MPI_INTEGER, n, code)
    call MPI_Error_class(code, class, error)
    call check("a type", class, MPI_ERR_COMM)
    call MPI_Send(n, 1, 12345, 0, 0, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class, error)
    call check("type", class, MPI_ERR_TYPE)
    call MPI_Allreduce(n, n, 1, MPI_INTEGER, 12345, MPI_COMM_SELF, code)
    call MPI_Error_class(code, class, error)
    call check("op", class, MPI_ERR_OP)
    request = 12345
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    call MPI_Error_class(code, class, error)
    call check("request", class, MPI_ERR_REQUEST)
    call MPI_Group_size(12345, n, code)
    call MPI_Error_class(code, class, error)
    call check("group", class, MPI_ERR_GROUP)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
    call passed("wrong handles")
  end subroutine

  subroutine hints()
    integer :: info, length, n
    character(len=10) :: value
    character(len=MPI_MAX_INFO_KEY) :: key
    logical :: flag

    call MPI_Info_create(info, error)
    call MPI_Info_set(info, " first  ", "  one  ", error)
    call MPI_Info_get_valuelen(info, "first", length, flag, error)
    call holds("length", flag .and. length == 3)
    call MPI_Info_get(info, "first ", 10, value, flag, error)
    call holds("value", flag .and. value == "one")
    call MPI_Info_get_nthkey(info, 0, key, error)
    call holds("key", key == "first")
    value = "untouched"
    call MPI_Info_get(info, "second", 10, value, flag, error)
    call holds("none", .not. flag .and. value == "untouched")
    call MPI_Info_delete(info, "first", error)
    call MPI_Info_get_nkeys(info, n, error)
    call check("keys", n, 0)
    call MPI_Info_free(info, error)
    call check("free", info, MPI_INFO_NULL)
    call passed("hints")
  end subroutine

  subroutine data_types()
    integer :: matrix(4, 4), column(4), row, block, made, status(MPI_STATUS_SIZE), n, i, j
    integer :: integers(8), types(2), counts(4)
    integer(kind=MPI_ADDRESS_KIND) :: lower, extent, addresses(2), here, there
    logical :: flag

    matrix = reshape([((10 * i + j, i = 1, 4), j = 1, 4)], [4, 4])
    call MPI_Type_vector(4, 1, 4, MPI_INTEGER, row, error)
    call MPI_Type_commit(row, error)
    call MPI_Sendrecv(matrix(2, 1), 1, row, rank, 0, column, 4, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, &
                      status, error)
    call check("row", column(3), 23)
    call MPI_Get_elements(status, MPI_INTEGER, n, error)
    call check("elements", n, 4)
    call MPI_Type_create_subarray(2, [4, 4], [2, 2], [1, 2], MPI_ORDER_FORTRAN, MPI_INTEGER, block, error)
    call MPI_Type_commit(block, error)
    column = 0
    call MPI_Sendrecv(matrix, 1, block, rank, 0, column, 4, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, error)
    call check("block", column(2), 33)
    call MPI_Type_get_envelope(row, counts(1), counts(2), counts(3), counts(4), error)
    call check("combiner", counts(4), MPI_COMBINER_VECTOR)
    call MPI_Type_get_contents(row, 8, 2, 2, integers, addresses, types, error)
    call check("stride", integers(3), 4)
    call check("old type", types(1), MPI_INTEGER)
    call MPI_Type_create_resized(row, 0_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND, made, error)
    call MPI_Type_get_extent(made, lower, extent, error)
    call holds("extent", lower == 0 .and. extent == 4)
    call MPI_Type_free(made, error)
    call MPI_Get_address(matrix(1, 1), here, error)
    call MPI_Get_address(matrix(1, 2), there, error)
    flag = MPI_Aint_diff(there, here) == 16 .and. MPI_Aint_add(here, 16_MPI_ADDRESS_KIND) == there
    call holds("addresses", flag)
    call MPI_Type_indexed(2, [1, 2], [0, 3], MPI_INTEGER, made, error)
    call MPI_Type_size(made, n, error)
    call check("indexed", n, 12)
    call MPI_Type_free(made, error)
    call MPI_Type_free(row, error)
    call MPI_Type_free(block, error)
    call check("free", block, MPI_DATATYPE_NULL)
    call passed("data types")
  end subroutine

  subroutine kinds()
    integer :: type, again, bytes, integers(2), types(1), counts(4)
    integer(kind=MPI_ADDRESS_KIND) :: addresses(1)
    integer, parameter :: wide = selected_real_kind(15, 300), long = selected_int_kind(12)
    real(wide) :: x, sum
    integer(long) :: n, most
    real(wide) :: several(3)

    call MPI_Type_create_f90_real(15, 300, type, error)
    x = 0.25
    call MPI_Allreduce(x, sum, 1, type, MPI_SUM, MPI_COMM_WORLD, error)
    call holds("sum", sum == 0.25 * size)
    call MPI_Type_create_f90_real(15, 300, again, error)
    call check("the same", again, type)
    call MPI_Type_get_envelope(type, counts(1), counts(2), counts(3), counts(4), error)
    call check("combiner", counts(4), MPI_COMBINER_F90_REAL)
    call check("integers", counts(1), 2)
    call MPI_Type_get_contents(type, 2, 0, 0, integers, addresses, types, error)
    call check("range", integers(2), 300)
    call MPI_Type_create_f90_integer(12, type, error)
    n = rank
    call MPI_Allreduce(n, most, 1, type, MPI_MAX, MPI_COMM_WORLD, error)
    call check("most", int(most), size - 1)
    call MPI_Type_create_f90_complex(MPI_UNDEFINED, 300, type, error)
    call MPI_Type_size(type, bytes, error)
    call check("complex", bytes, 16)
    several = 0
    call MPI_Sizeof(several, bytes, error)
    call check("size", bytes, 8)
    call MPI_Sizeof(rank, bytes, error)
    call check("size of a scalar", bytes, 4)
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, type, error)
    call MPI_Allreduce(x, sum, 1, type, MPI_SUM, MPI_COMM_WORLD, error)
    call holds("matched", sum == 0.25 * size)
    call passed("kinds")
  end subroutine
end program
