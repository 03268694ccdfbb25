! SPDX-License-Identifier: BSD-2-Clause
!
! fortran.f90: an ordinary Fortran program with the compiler's own library: standard input, formatted,
! unformatted and direct files, allocatable arrays and strings, threads of OpenMP, and the status with which
! it stops. Works in /tmp; prints the same on each system.
program fortran
    use omp_lib
    implicit none
    integer, parameter :: word = selected_int_kind(9), long = selected_int_kind(18)
    real(8), allocatable :: a(:, :), b(:, :), c(:, :)
    integer(long), allocatable :: sums(:)
    character(:), allocatable :: text
    character(80) :: line
    integer :: i, j, n, unit, status
    integer(long) :: total
    real(8) :: x, y

    read (*, *) n
    read (*, '(a)') line
    text = trim(line) // ' and ' // repeat('ab', 3)
    print '(i0, 1x, a, 1x, i0)', n, text, len(text)

    allocate (a(n, n), b(n, n))
    do j = 1, n
        do i = 1, n
            a(i, j) = i + 2 * j
            b(i, j) = merge(2, 0, i == j)
        end do
    end do
    c = matmul(a, transpose(b))
    print '(a, f12.2, 1x, es12.4, 2(1x, i0))', 'product', sum(c), maxval(c), shape(c(::2, :))
    deallocate (a, b)
    print '(a, 2(1x, l1))', 'allocated', allocated(a), allocated(c)
    allocate (a(huge(1_word), huge(1_word)), stat=status)
    print '(a, 1x, l1)', 'too much is refused', status /= 0

    open (newunit=unit, file='/tmp/lines', action='readwrite', status='new')
    do i = 1, 1000
        write (unit, '(i6, 1x, f20.12, 1x, a)') i, sqrt(real(i, 8)), 'row'
    end do
    rewind (unit)
    y = 0
    do i = 1, 1000
        read (unit, *) j, x, line
        if (j /= i .or. line /= 'row') stop 3
        y = y + x * x
    end do
    read (unit, *, iostat=status) j
    print '(a, f10.2, 1x, l1)', 'lines', y, is_iostat_end(status)
    close (unit, status='delete')

    open (newunit=unit, file='/tmp/records', access='direct', recl=8, form='unformatted')
    do i = 100, 1, -1
        write (unit, rec=i) int(i, long) ** 3
    end do
    read (unit, rec=99) total
    close (unit)
    open (newunit=unit, file='/tmp/records', access='stream', form='unformatted')
    read (unit, pos=8 * 49 + 1) total
    inquire (unit, size=i)
    print '(a, 2(1x, i0))', 'records', total, i
    close (unit, status='delete')
    open (newunit=unit, file='/tmp/none', status='old', iostat=status)
    print '(a, 1x, l1)', 'a file that is not there is an error', status /= 0

    ! What each thread prepares is its own; what they make together does not depend on their number.
    total = 0
    allocate (sums(1000))
    !$omp parallel do private(line, j) reduction(+:total) schedule(dynamic, 7)
    do i = 1, 1000
        write (line, '(i10)') i
        read (line, *) j
        sums(i) = int(j, long) * j
        total = total + sums(i)
    end do
    !$omp end parallel do
    !$omp parallel
    !$omp single
    print '(a, 3(1x, i0))', 'threads', omp_get_num_threads(), total, sums(1000)
    !$omp end single
    !$omp end parallel
    write (0, '(a)') 'to standard error'
    stop 5
end program fortran
