! SPDX-License-Identifier: BSD-2-Clause
!
! heat.f90: Fortran with OpenMP: heat spreads along a rod whose one end is hot.
program heat
    use omp_lib
    implicit none
    integer, parameter :: cells = 1000, steps = 200
    real(8) :: rod(0:cells + 1), next(0:cells + 1)
    integer :: i, step, threads

    rod = 0
    rod(0) = 100
    next = rod
    threads = 0
    do step = 1, steps
        !$omp parallel do
        do i = 1, cells
            next(i) = rod(i) + 0.25d0 * (rod(i - 1) - 2 * rod(i) + rod(i + 1))
        end do
        !$omp end parallel do
        rod = next
    end do
    !$omp parallel
    !$omp single
    threads = omp_get_num_threads()
    !$omp end single
    !$omp end parallel
    print '(i0, a, f8.6)', threads, ' threads: mean ', sum(rod(1:cells)) / cells
end program heat
