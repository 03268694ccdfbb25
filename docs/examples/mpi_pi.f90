! SPDX-License-Identifier: BSD-2-Clause
!
! mpi_pi.f90: pi as the integral of 4 / (1 + x**2) from 0 to 1, its strips dealt out to the ranks.
program mpi_pi
  use mpi
  implicit none
  integer, parameter :: strips = 10000000
  integer :: rank, ranks, i, error
  real(8) :: x, part, area

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  part = 0
  do i = rank, strips - 1, ranks
    x = (i + 0.5d0) / strips
    part = part + 4 / (1 + x * x) / strips
  end do
  call MPI_Reduce(part, area, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(i0, a, f12.10)', ranks, ' ranks: ', area
  call MPI_Finalize(error)
end program
