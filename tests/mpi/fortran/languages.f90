! SPDX-License-Identifier: BSD-2-Clause
!
! languages.f90: one program in Fortran and C: handles, statuses and attributes of one language in the other;
! support.c is the part in C. [MPI 3.1 §17.2]
!
module fortran_part
  use mpi
  implicit none
  integer :: errors = 0

contains

  subroutine difference(left, right, count, type)
    integer :: count, type, left(count), right(count)

    if (type /= MPI_INTEGER) error stop 4
    right = left + right + 1
  end subroutine

  subroutine handler(comm, code)
    integer :: comm, code

    if (code == MPI_SUCCESS .or. comm == MPI_COMM_NULL) error stop 5
    errors = errors + 1
  end subroutine
end module

program languages
  use mpi
  use fortran_part
  implicit none
  integer :: rank, size, error

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call fortran_to_c()
  call c_to_fortran()
  call requests()
  call attributes()
  call handlers()
  call many()
  call MPI_Finalize(error)

contains

  subroutine fortran_to_c()
    integer :: comm, op, sum, converts

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    call c_sum(comm, MPI_INTEGER, MPI_SUM, rank, sum)
    call check("sum", sum, size * (size - 1) / 2)
    call MPI_Op_create(difference, .true., op, error)
    call c_sum(comm, MPI_INTEGER, op, rank, sum)
    call check("own sum", sum, size * (size - 1) / 2 + size - 1)
    call MPI_Op_free(op, error)
    call MPI_Comm_free(comm, error)
    call c_converts(converts)
    call check("converts", converts, 1)
    call passed("Fortran to C")
  end subroutine

  subroutine c_to_fortran()
    integer :: comm, type, group, n, numbers(3)

    call c_objects(comm, type, group)
    call MPI_Comm_size(comm, n, error)
    call check("size", n, size)
    numbers = merge(7, 0, rank == 0)
    call MPI_Bcast(numbers, 1, type, 0, comm, error)
    call check("broadcast", numbers(3), 7)
    call MPI_Group_size(group, n, error)
    call check("group", n, size)
    call MPI_Group_free(group, error)
    call MPI_Type_free(type, error)
    call MPI_Comm_free(comm, error)
    call check("free", comm, MPI_COMM_NULL)
    call passed("C to Fortran")
  end subroutine

  subroutine requests()
    integer :: request, status(MPI_STATUS_SIZE), numbers(5), n, sent

    call MPI_Irecv(numbers, 5, MPI_INTEGER, mod(rank + size - 1, size), 3, MPI_COMM_WORLD, request, error)
    call MPI_Isend([1, 2, 3, rank], 4, MPI_INTEGER, mod(rank + 1, size), 3, MPI_COMM_WORLD, sent, error)
    call c_wait(request, status, n)
    call check("request", request, MPI_REQUEST_NULL)
    call check("count", n, 4)
    call check("tag", status(MPI_TAG), 3)
    call check("number", numbers(4), mod(rank + size - 1, size))
    call MPI_Get_count(status, MPI_INTEGER, n, error)
    call check("count in Fortran", n, 4)
    call MPI_Wait(sent, MPI_STATUS_IGNORE, error)
    call passed("requests")
  end subroutine

  subroutine attributes()
    integer :: key, value
    integer(kind=MPI_ADDRESS_KIND) :: address, expected
    logical :: flag

    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, &
                                error)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 31_MPI_ADDRESS_KIND, error)
    call c_attribute_get(MPI_COMM_WORLD, key, 1, value)
    call check("an address", value, 31)
    call MPI_Attr_put(MPI_COMM_WORLD, key, 33, error)
    call c_attribute_get(MPI_COMM_WORLD, key, 0, value)
    call check("an integer", value, 33)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, address, flag, error)
    call holds("widened", flag .and. address == 33)
    call c_attribute_set(MPI_COMM_WORLD, key, expected)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, address, flag, error)
    call holds("a pointer", flag .and. address == expected)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, error)
    call MPI_Comm_free_keyval(key, error)
    call passed("attributes")
  end subroutine

  subroutine handlers()
    integer :: own, comm, class

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    call MPI_Comm_create_errhandler(handler, own, error)
    call MPI_Comm_set_errhandler(comm, own, error)
    call c_error(comm, class)
    call check("called", errors, 1)
    call check("class", class, MPI_ERR_RANK)
    call MPI_Errhandler_free(own, error)
    call MPI_Comm_free(comm, error)
    call passed("handlers")
  end subroutine

  ! Handles that end in either language, more than any table begins with.
  subroutine many()
    integer :: types(5000), i, n

    do i = 1, 5000
      call MPI_Type_contiguous(i, MPI_INTEGER, types(i), error)
    end do
    do i = 1, 5000, 3
      call MPI_Type_size(types(i), n, error)
      call check("size", n, 4 * i)
    end do
    do i = 1, 5000, 2
      call MPI_Type_free(types(i), error)
    end do
    do i = 2, 5000, 2
      call MPI_Type_size(types(i), n, error)
      call check("size of what is left", n, 4 * i)
      call c_free(types(i))
    end do
    call passed("many")
  end subroutine
end program
