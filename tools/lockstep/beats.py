# SPDX-License-Identifier: BSD-2-Clause
"""The conductor in virtual time: heartbeats that reach all cards at the gate that they are due at, the first
instant of it, on all nodes.

It is the frames of the kernel's own writer (beat.c), not the conductor's program on a Linux guest: that would
beat at the moments at which Linux's timers let it, and send over a card; here the beat itself is to be exact.

Conductor time is that of the nodes' battery clocks: virtual time 0 is the first second of 2026.
"""

from __future__ import annotations

import calendar
import ctypes

from qemu import paths
from qemu.errors import RunnerError

LIBRARY = paths.BUILD / "lockstep" / "beat.so"
#: The kernel's BEAT_PERIOD_NS_MIN and BEAT_PERIOD_NS_MAX.
PERIOD_NS_MIN, PERIOD_NS_MAX = 10**6, 60 * 10**9
EPOCH_NS = calendar.timegm((2026, 1, 1, 0, 0, 0)) * 10**9
#: Nothing outside of the machine sees it.
KEY = bytes(range(16))
_ADDRESSES = b"\xff" * 6 + bytes.fromhex("025400000001")
_TYPE = b"\x88\xcb"
_FRAME_MIN = 60
_PAYLOAD_MAX = 1500


class Beats:
    """Beats each `period_ns`, a whole number of quanta, from the multiple at `first_ns` or after it on."""

    def __init__(self, period_ns: int, first_ns: int, quantum_ns: int) -> None:
        self.period_ns = period_ns
        self._period = period_ns // quantum_ns
        self._first = -(-first_ns // period_ns) * self._period
        try:
            self._encode = ctypes.CDLL(str(LIBRARY)).lockstep_beat
        except OSError:
            raise RunnerError(f"there is no {LIBRARY}; make lockstep-parts builds it") from None
        self._encode.restype = ctypes.c_size_t
        self._encode.argtypes = [*[ctypes.c_uint64] * 4, *[ctypes.c_char_p] * 2, ctypes.c_size_t]

    def sequence_at(self, gate: int) -> int:
        """The number of the beat that is due at this gate; 0: none is."""
        since = gate - self._first
        return 0 if since < 0 or since % self._period else since // self._period + 1

    def frame(self, sequence: int) -> bytes:
        due_ns = EPOCH_NS + (self._first // self._period + sequence - 1) * self.period_ns
        payload = ctypes.create_string_buffer(_PAYLOAD_MAX)
        length = self._encode(EPOCH_NS, sequence, due_ns, self.period_ns, KEY, payload, _PAYLOAD_MAX)
        return (_ADDRESSES + _TYPE + payload.raw[:length]).ljust(_FRAME_MIN, b"\0")
