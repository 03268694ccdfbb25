! SPDX-License-Identifier: BSD-2-Clause
!
! collectives.f90: collectives with the module mpi: in place, with counts of each rank, with Fortran's types
! and operations, the program's own operations, and nonblocking ones. [MPI 3.1 chapter 5]
!
program collectives
  use mpi
  implicit none
  integer :: rank, size, error

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call moving()
  call in_place()
  call operations()
  call types()
  call own_operations()
  call nonblocking()
  call MPI_Finalize(error)

contains

  subroutine moving()
    integer :: i, counts(size), places(size), got(size * (size + 1)), one(size), all(size)
    integer :: kinds(size), bytes(size)
    real(8) :: x(2)

    x = merge(3.5d0, 0d0, rank == 0)
    call MPI_Bcast(x, 2, MPI_REAL8, 0, MPI_COMM_WORLD, error)
    call holds("broadcast", all_equal(x, 3.5d0))
    one = rank
    call MPI_Gather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, size - 1, MPI_COMM_WORLD, error)
    if (rank == size - 1) call holds("gather", all(size) == size - 1)
    call MPI_Allgather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call holds("allgather", all(size) == size - 1 .and. all(1) == 0)
    counts = [(i, i = 1, size)]
    places = [((i * (i - 1)) / 2, i = 1, size)]
    call MPI_Allgatherv(one, rank + 1, MPI_INTEGER, got, counts, places, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check("allgatherv", got(places(size) + size), size - 1)
    call MPI_Scatter(all, 1, MPI_INTEGER, i, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call check("scatter", i, rank)
    all = [(100 * rank + i, i = 0, size - 1)]
    call MPI_Alltoall(all, 1, MPI_INTEGER, one, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check("alltoall", one(size), 100 * (size - 1) + rank)
    kinds = MPI_INTEGER
    bytes = [(4 * i, i = 0, size - 1)]
    counts = 1
    one = -1
    call MPI_Alltoallw(all, counts, bytes, kinds, one, counts, bytes, kinds, MPI_COMM_WORLD, error)
    call check("alltoallw", one(1), rank)
    call check("alltoallw, last", one(size), 100 * (size - 1) + rank)
    call passed("moving")
  end subroutine

  logical function all_equal(x, value)
    real(8), intent(in) :: x(:), value
    all_equal = all(x == value)
  end function

  subroutine in_place()
    integer :: i, numbers(size), sum
    real :: x(3)

    sum = size * (size - 1) / 2
    x = [real(rank), 1.0, 2.0]
    call MPI_Allreduce(MPI_IN_PLACE, x, 3, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, error)
    call holds("allreduce", x(1) == sum .and. x(3) == 2 * size)
    i = rank
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, i, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
      call check("reduce", i, sum)
    else
      call MPI_Reduce(i, i, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    end if
    numbers = -1
    numbers(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, numbers, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check("allgather", numbers(size), size - 1)
    numbers = -1
    numbers(rank + 1) = rank
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, numbers, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
      call check("gather", numbers(size), size - 1)
      call MPI_Scatter(numbers, 1, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    else
      call MPI_Gather(rank, 1, MPI_INTEGER, numbers, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
      call MPI_Scatter(numbers, 1, MPI_INTEGER, i, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
      call check("scatter", i, rank)
    end if
    numbers = [(10 * rank + i, i = 0, size - 1)]
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, numbers, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check("alltoall", numbers(size), 10 * (size - 1) + rank)
    i = 1
    call MPI_Scan(MPI_IN_PLACE, i, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check("scan", i, rank + 1)
    call passed("in place")
  end subroutine

  subroutine operations()
    integer :: pair(2), least(2), bits, result
    real :: real_pair(2), real_result(2)
    double precision :: double_pair(2), double_result(2)
    logical :: flag, every

    pair = [mod(rank + 1, size), rank]
    call MPI_Allreduce(pair, least, 1, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, error)
    call check("least", least(1), 0)
    call check("where", least(2), size - 1)
    real_pair = real(pair)
    call MPI_Allreduce(real_pair, real_result, 1, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD, error)
    call check("greatest", int(real_result(1)), size - 1)
    double_pair = -pair
    call MPI_Allreduce(double_pair, double_result, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD, &
                       error)
    call check("least double", int(double_result(1)), 1 - size)
    flag = rank < size - 1 .or. size == 1
    call MPI_Allreduce(flag, every, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
    call holds("and", every .eqv. size == 1)
    call MPI_Allreduce(flag, every, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, error)
    call holds("or", every)
    flag = .true.
    call MPI_Allreduce(flag, every, 1, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD, error)
    call holds("exclusive or", every .eqv. mod(size, 2) == 1)
    every = .not. every
    call holds("one .true. alone", transfer(.not. every, 1) == mod(size, 2))
    bits = 2**rank
    call MPI_Allreduce(bits, result, 1, MPI_INTEGER, MPI_BOR, MPI_COMM_WORLD, error)
    call check("bits", result, 2**size - 1)
    call passed("operations")
  end subroutine

  subroutine types()
    complex :: c, c_sum
    complex(8) :: z, z_product
    integer(8) :: long, long_sum
    integer(2) :: short, short_max
    integer(1) :: tiny_one, tiny_sum
    real(4) :: r4, r4_sum
    character(len=5) :: word, words(size)
    integer :: bytes

    c = cmplx(1, rank)
    call MPI_Allreduce(c, c_sum, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, error)
    call holds("complex", c_sum == cmplx(size, size * (size - 1) / 2))
    z = (0d0, 1d0)
    call MPI_Allreduce(z, z_product, 1, MPI_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD, error)
    call holds("double complex", z_product == z**size)
    long = 2_8**40 + rank
    call MPI_Allreduce(long, long_sum, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, error)
    call holds("integer 8", long_sum == size * 2_8**40 + size * (size - 1) / 2)
    short = int(rank, 2)
    call MPI_Allreduce(short, short_max, 1, MPI_INTEGER2, MPI_MAX, MPI_COMM_WORLD, error)
    call check("integer 2", int(short_max), size - 1)
    tiny_one = 1
    call MPI_Allreduce(tiny_one, tiny_sum, 1, MPI_INTEGER1, MPI_SUM, MPI_COMM_WORLD, error)
    call check("integer 1", int(tiny_sum), size)
    r4 = 0.5
    call MPI_Allreduce(r4, r4_sum, 1, MPI_REAL4, MPI_SUM, MPI_COMM_WORLD, error)
    call holds("real 4", r4_sum == 0.5 * size)
    write (word, "(a, i1)") "rank", mod(rank, 10)
    call MPI_Allgather(word, 5, MPI_CHARACTER, words, 5, MPI_CHARACTER, MPI_COMM_WORLD, error)
    call holds("character", words(1) == "rank0")
    call MPI_Type_size(MPI_DOUBLE_COMPLEX, bytes, error)
    call check("size", bytes, 16)
    call passed("types")
  end subroutine

  ! Of two elements a and b: the first of the left one, the second of the right one. It does not commute.
  subroutine outer(left, right, count, type)
    integer :: count, type, i
    integer :: left(2, count), right(2, count)

    if (type /= MPI_2INTEGER) error stop 4
    do i = 1, count
      right(1, i) = left(1, i)
    end do
  end subroutine

  subroutine greater(left, right, count, type)
    integer :: count, type, bytes, error
    real(8) :: left(count * 3), right(count * 3)

    call MPI_Type_size(type, bytes, error)
    if (bytes /= 24) error stop 5
    right = max(left, right)
  end subroutine

  subroutine own_operations()
    integer :: op, pair(2), result(2), triple
    real(8) :: x(6), y(6)
    logical :: commutes

    call MPI_Op_create(outer, .false., op, error)
    call MPI_Op_commutative(op, commutes, error)
    call holds("commutes", .not. commutes)
    pair = rank
    call MPI_Allreduce(pair, result, 1, MPI_2INTEGER, op, MPI_COMM_WORLD, error)
    call check("left", result(1), 0)
    call check("right", result(2), size - 1)
    call MPI_Op_free(op, error)
    call check("free", op, MPI_OP_NULL)
    call MPI_Type_contiguous(3, MPI_REAL8, triple, error)
    call MPI_Type_commit(triple, error)
    call MPI_Op_create(greater, .true., op, error)
    x = rank
    x(6) = -rank
    call MPI_Allreduce(x, y, 2, triple, op, MPI_COMM_WORLD, error)
    call holds("greatest", y(1) == size - 1 .and. y(6) == 0)
    call MPI_Reduce_local(x, y, 2, triple, op, error)
    call holds("still", y(5) == size - 1)
    call MPI_Op_free(op, error)
    call MPI_Type_free(triple, error)
    call passed("own operations")
  end subroutine

  subroutine nonblocking()
    integer :: requests(4), i, sum, all(size), kinds(size), counts(size), places(size), from(size), to(size)

    call MPI_Iallreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), error)
    call MPI_Iallgather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, requests(2), error)
    call MPI_Ibarrier(MPI_COMM_WORLD, requests(3), error)
    kinds = MPI_INTEGER
    counts = 1
    places = [(4 * i, i = 0, size - 1)]
    from = rank
    call MPI_Ialltoallw(from, counts, places, kinds, to, counts, places, kinds, MPI_COMM_WORLD, requests(4), &
                        error)
    kinds = MPI_DATATYPE_NULL
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, error)
    call check("sum", sum, size * (size - 1) / 2)
    call check("all", all(size), size - 1)
    call check("to", to(size), size - 1)
    call holds("ended", all_null(requests))
    call passed("nonblocking")
  end subroutine

  logical function all_null(requests)
    integer, intent(in) :: requests(:)
    all_null = all(requests == MPI_REQUEST_NULL)
  end function
end program
