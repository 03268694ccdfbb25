! SPDX-License-Identifier: BSD-2-Clause
!
! traced.f90: messages in Fortran, printed as traced.c does. Sources and statuses that the program does not
! name, arrays of requests and statuses, indices that count from 1, and a buffer in place.
program traced
  use mpi
  implicit none
  integer :: rank, ranks, next, previous, error, i, index, requests(2), found
  integer :: numbers(16), other(16), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), indices(2), half
  logical :: flag

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  numbers = rank

  ! Each to the next one, which does not say from whom it receives.
  call MPI_Irecv(other, 16, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(numbers, 5, MPI_INTEGER, next, 1, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call both(1, 20)

  call MPI_Isend(numbers, 2, MPI_DOUBLE_PRECISION, next, 2, MPI_COMM_WORLD, requests(1), error)
  call MPI_Recv(other, 16, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(requests(1), flag, status, error)
  end do
  call both(2, 16)

  call MPI_Irecv(other, 16, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests(2), error)
  call MPI_Isend(numbers, 3, MPI_INTEGER, next, 3, MPI_COMM_WORLD, requests(1), error)
  do i = 1, 2
    call MPI_Waitany(2, requests, index, status, error)
  end do
  call both(3, 12)

  call MPI_Send_init(numbers, 4, MPI_INTEGER, next, 4, MPI_COMM_WORLD, requests(1), error)
  call MPI_Recv_init(other, 16, MPI_INTEGER, previous, 4, MPI_COMM_WORLD, requests(2), error)
  call MPI_Startall(2, requests, error)
  found = 0
  do while (found < 2)
    call MPI_Waitsome(2, requests, i, indices, statuses, error)
    found = found + i
  end do
  call both(4, 16)
  call MPI_Request_free(requests(1), error)
  call MPI_Request_free(requests(2), error)

  ! The ranks in the other order.
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, half, error)
  call MPI_Sendrecv(numbers, 1, MPI_INTEGER, ranks - 1 - next, 5, other, 1, MPI_INTEGER, ranks - 1 - previous, &
                    5, half, MPI_STATUS_IGNORE, error)
  call both(5, 4)
  call MPI_Comm_free(half, error)

  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, other, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)

contains

  ! Prints a message to the next rank, and the one from the rank before.
  subroutine both(tag, bytes)
    integer, intent(in) :: tag, bytes

    print '(a, 4(1x, i0))', 'S', rank, next, tag, bytes
    print '(a, 4(1x, i0))', 'R', previous, rank, tag, bytes
  end subroutine
end program
