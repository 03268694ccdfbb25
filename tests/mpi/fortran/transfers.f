! SPDX-License-Identifier: BSD-2-Clause
!
! transfers.f: messages and requests, in fixed form with mpif.h, as programs of the nineties are: COMMON
! blocks, implicit interfaces, one function with buffers of several types. [MPI 3.1 chapters 3 and 4]
!
      program transfers
      implicit none
      include 'mpif.h'
      integer ierr
      integer rank, size, next, before
      common /world/ rank, size, next, before

      call MPI_INIT(ierr)
      call check('init', ierr, MPI_SUCCESS)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      next = mod(rank + 1, size)
      before = mod(rank + size - 1, size)
      call blocking
      call waits
      call tests
      call kept
      call probes
      call buffered
      call places
      call MPI_FINALIZE(ierr)
      end

      subroutine blocking
      implicit none
      include 'mpif.h'
      integer rank, size, next, before
      common /world/ rank, size, next, before
      integer status(MPI_STATUS_SIZE), ierr, n, i, request
      double precision x(10), y(10)
      real r(4)
      character*12 text, other

      do 10 i = 1, 10
         x(i) = rank + i
         y(i) = -1
   10 continue
      call MPI_SENDRECV(x, 10, MPI_DOUBLE_PRECISION, next, 5, y, 10,
     &     MPI_DOUBLE_PRECISION, before, 5, MPI_COMM_WORLD, status,
     &     ierr)
      call check('source', status(MPI_SOURCE), before)
      call check('tag', status(MPI_TAG), 5)
      call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, n, ierr)
      call check('count', n, 10)
      do 20 i = 1, 10
         call check('value', int(y(i)), before + i)
   20 continue

      r(1) = rank
      call MPI_SENDRECV_REPLACE(r, 1, MPI_REAL, next, 1, before, 1,
     &     MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call check('replaced', int(r(1)), before)

      text = 'characters'
      call MPI_ISEND(text, 12, MPI_CHARACTER, next, 7, MPI_COMM_WORLD,
     &     request, ierr)
      call MPI_RECV(other, 12, MPI_CHARACTER, MPI_ANY_SOURCE,
     &     MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
      call holds('text', text .eq. other)
      call check('any source', status(MPI_SOURCE), before)
      call check('any tag', status(MPI_TAG), 7)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
      call check('null', request, MPI_REQUEST_NULL)

      call MPI_RECV(i, 1, MPI_INTEGER, MPI_PROC_NULL, 1,
     &     MPI_COMM_WORLD, status, ierr)
      call check('nobody', status(MPI_SOURCE), MPI_PROC_NULL)
      call MPI_GET_COUNT(status, MPI_INTEGER, n, ierr)
      call check('nothing', n, 0)
      call passed('blocking')
      end

! Requests of several, so many that no array of a fixed size has them.
      subroutine waits
      implicit none
      include 'mpif.h'
      integer many
      parameter (many = 100)
      integer rank, size, next, before
      common /world/ rank, size, next, before
      integer requests(2*many), statuses(MPI_STATUS_SIZE,2*many)
      integer indices(2*many), numbers(many), got(many)
      integer status(MPI_STATUS_SIZE), ierr, i, j, n, done

      do 60 j = 1, 4
      do 10 i = 1, many
         numbers(i) = 1000*rank + i
         got(i) = -1
         call MPI_IRECV(got(i), 1, MPI_INTEGER, before, i,
     &        MPI_COMM_WORLD, requests(i), ierr)
   10 continue
      do 20 i = 1, many
         call MPI_ISEND(numbers(i), 1, MPI_INTEGER, next, i,
     &        MPI_COMM_WORLD, requests(many+i), ierr)
   20 continue
      if (j .eq. 1) then
         call MPI_WAITALL(2*many, requests, statuses, ierr)
         do 30 i = 1, many
            call check('source of all', statuses(MPI_SOURCE,i), before)
            call check('tag of all', statuses(MPI_TAG,i), i)
   30    continue
      else if (j .eq. 2) then
         call MPI_WAITALL(2*many, requests, MPI_STATUSES_IGNORE, ierr)
      else if (j .eq. 3) then
         do 40 n = 1, 2*many
            call MPI_WAITANY(2*many, requests, i, status, ierr)
            call holds('index', i .ge. 1 .and. i .le. 2*many)
            call check('null at index', requests(i), MPI_REQUEST_NULL)
            if (i .le. many) call check('tag', status(MPI_TAG), i)
   40    continue
         call MPI_WAITANY(2*many, requests, i, MPI_STATUS_IGNORE, ierr)
         call holds('no index', i .lt. 0)
      else
         done = 0
   45    call MPI_WAITSOME(2*many, requests, n, indices, statuses, ierr)
         do 50 i = 1, n
            call check('null of some', requests(indices(i)),
     &           MPI_REQUEST_NULL)
            if (indices(i) .le. many)
     &         call check('tag of some', statuses(MPI_TAG,i),
     &                    indices(i))
   50    continue
         done = done + n
         if (done .lt. 2*many) goto 45
         call MPI_WAITSOME(2*many, requests, n, indices,
     &        MPI_STATUSES_IGNORE, ierr)
         call check('none', n, MPI_UNDEFINED)
      end if
      do 55 i = 1, many
         call check('number', got(i), 1000*before + i)
         call check('ended', requests(i), MPI_REQUEST_NULL)
   55 continue
   60 continue
      call passed('waits')
      end

      subroutine tests
      implicit none
      include 'mpif.h'
      integer rank, size, next, before
      common /world/ rank, size, next, before
      integer requests(4), statuses(MPI_STATUS_SIZE,4), indices(4)
      integer ierr, i, n, j, got(2), done
      logical flag

      do 20 j = 1, 3
      do 10 i = 1, 2
         call MPI_IRECV(got(i), 1, MPI_INTEGER, before, i,
     &        MPI_COMM_WORLD, requests(i), ierr)
         call MPI_ISSEND(rank, 1, MPI_INTEGER, next, i,
     &        MPI_COMM_WORLD, requests(2+i), ierr)
   10 continue
      flag = .false.
      if (j .eq. 1) then
   12    call MPI_TESTALL(4, requests, flag, statuses, ierr)
         if (.not. flag) goto 12
         call check('tag', statuses(MPI_TAG,2), 2)
      else if (j .eq. 2) then
         done = 0
   14    call MPI_TESTANY(4, requests, i, flag, statuses, ierr)
         if (flag) done = done + 1
         if (done .lt. 4) goto 14
         call MPI_TESTANY(4, requests, i, flag, MPI_STATUS_IGNORE, ierr)
         call holds('flag', flag)
         call holds('no index', i .lt. 0)
      else
         done = 0
   16    call MPI_TESTSOME(4, requests, n, indices, statuses, ierr)
         done = done + n
         if (done .lt. 4) goto 16
      end if
      call check('first', got(1), before)
      call check('second', got(2), before)
   20 continue

      i = rank
      call MPI_IRECV(n, 1, MPI_INTEGER, before, 3, MPI_COMM_WORLD,
     &     requests(1), ierr)
      call MPI_SEND(i, 1, MPI_INTEGER, next, 3, MPI_COMM_WORLD, ierr)
   30 call MPI_REQUEST_GET_STATUS(requests(1), flag, statuses, ierr)
      if (.not. flag) goto 30
      call holds('kept', requests(1) .ne. MPI_REQUEST_NULL)
   40 call MPI_TEST(requests(1), flag, statuses, ierr)
      if (.not. flag) goto 40
      call check('ended', requests(1), MPI_REQUEST_NULL)

      call MPI_IRECV(n, 1, MPI_INTEGER, before, 99, MPI_COMM_WORLD,
     &     requests(1), ierr)
      call MPI_CANCEL(requests(1), ierr)
      call MPI_WAIT(requests(1), statuses, ierr)
      call MPI_TEST_CANCELLED(statuses, flag, ierr)
      call holds('cancelled', flag)
      call passed('tests')
      end

      subroutine kept
      implicit none
      include 'mpif.h'
      integer rank, size, next, before
      common /world/ rank, size, next, before
      integer requests(2), ierr, i, out, in, first

      call MPI_SEND_INIT(out, 1, MPI_INTEGER, next, 4, MPI_COMM_WORLD,
     &     requests(1), ierr)
      call MPI_RECV_INIT(in, 1, MPI_INTEGER, before, 4, MPI_COMM_WORLD,
     &     requests(2), ierr)
      first = requests(1)
      do 10 i = 1, 5
         out = 10*rank + i
         if (i .lt. 3) then
            call MPI_STARTALL(2, requests, ierr)
         else
            call MPI_START(requests(2), ierr)
            call MPI_START(requests(1), ierr)
         end if
         call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierr)
         call check('in', in, 10*before + i)
         call check('same request', requests(1), first)
   10 continue
      call MPI_REQUEST_FREE(requests(1), ierr)
      call MPI_REQUEST_FREE(requests(2), ierr)
      call check('free', requests(2), MPI_REQUEST_NULL)
      call passed('kept')
      end

      subroutine probes
      implicit none
      include 'mpif.h'
      integer rank, size, next, before
      common /world/ rank, size, next, before
      integer status(MPI_STATUS_SIZE), ierr, n, numbers(8), request
      integer message
      logical flag

      numbers(1) = rank
      call MPI_ISEND(numbers, 3, MPI_INTEGER, next, 6, MPI_COMM_WORLD,
     &     request, ierr)
      call MPI_PROBE(before, 6, MPI_COMM_WORLD, status, ierr)
      call MPI_GET_COUNT(status, MPI_INTEGER, n, ierr)
      call check('probed', n, 3)
   10 call MPI_IPROBE(before, 6, MPI_COMM_WORLD, flag,
     &     MPI_STATUS_IGNORE, ierr)
      if (.not. flag) goto 10
      call MPI_MPROBE(before, 6, MPI_COMM_WORLD, message, status, ierr)
      call check('tag', status(MPI_TAG), 6)
      call MPI_MRECV(numbers(4), 5, MPI_INTEGER, message, status, ierr)
      call check('message', message, MPI_MESSAGE_NULL)
      call check('received', numbers(4), before)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
      call MPI_IMPROBE(before, 66, MPI_COMM_WORLD, flag, message,
     &     status, ierr)
      call holds('none', .not. flag)
      call passed('probes')
      end

      subroutine buffered
      implicit none
      include 'mpif.h'
      integer rank, size, next, before
      common /world/ rank, size, next, before
      integer space(2000), ierr, bytes, number

      call MPI_BUFFER_ATTACH(space, 8000, ierr)
      call MPI_BSEND(rank, 1, MPI_INTEGER, next, 8, MPI_COMM_WORLD,
     &     ierr)
      call MPI_RECV(number, 1, MPI_INTEGER, before, 8, MPI_COMM_WORLD,
     &     MPI_STATUS_IGNORE, ierr)
      call check('number', number, before)
      call MPI_BUFFER_DETACH(space, bytes, ierr)
      call check('bytes', bytes, 8000)
      call passed('buffered')
      end

! Addresses from MPI_BOTTOM; packed data.
      subroutine places
      implicit none
      include 'mpif.h'
      integer rank, size, next, before
      common /world/ rank, size, next, before
      integer number
      double precision value(3)
      common /mixed/ value, number
      integer lengths(2), types(2), type, ierr, position, bytes
      integer copy
      integer(kind=MPI_ADDRESS_KIND) where(2)
      character packed(100)
      double precision copies(3)

      call MPI_GET_ADDRESS(value, where(1), ierr)
      call MPI_GET_ADDRESS(number, where(2), ierr)
      call check('apart', int(where(2) - where(1)), 24)
      lengths(1) = 3
      lengths(2) = 1
      types(1) = MPI_DOUBLE_PRECISION
      types(2) = MPI_INTEGER
      call MPI_TYPE_CREATE_STRUCT(2, lengths, where, types, type, ierr)
      call MPI_TYPE_COMMIT(type, ierr)
      value(1) = rank
      value(3) = rank + 2
      number = 100 + rank
      call MPI_SENDRECV_REPLACE(MPI_BOTTOM, 1, type, next, 2, before, 2,
     &     MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call check('value', int(value(3)), before + 2)
      call check('number', number, 100 + before)
      call MPI_TYPE_FREE(type, ierr)
      call check('free', type, MPI_DATATYPE_NULL)

      call MPI_PACK_SIZE(1, MPI_INTEGER, MPI_COMM_WORLD, bytes, ierr)
      call holds('size', bytes .ge. 4)
      position = 0
      call MPI_PACK(number, 1, MPI_INTEGER, packed, 100, position,
     &     MPI_COMM_WORLD, ierr)
      call MPI_PACK(value, 3, MPI_DOUBLE_PRECISION, packed, 100,
     &     position, MPI_COMM_WORLD, ierr)
      bytes = position
      position = 0
      call MPI_UNPACK(packed, bytes, position, copy, 1, MPI_INTEGER,
     &     MPI_COMM_WORLD, ierr)
      call MPI_UNPACK(packed, bytes, position, copies, 3,
     &     MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
      call check('all', position, bytes)
      call check('copy', copy, number)
      call check('copies', int(copies(3)), before + 2)
      call passed('places')
      end
