# SPDX-License-Identifier: BSD-2-Clause
"""[Tsafrir05 §3.2, Fig. 6]: the cache misses that ticks cause, by the rate of the tick, on the caches of the
paper's machines: misses of the interrupted program, and of the kernel that interrupts it.

The emulator has no caches; a plugin models them (tools/caches) and sees each fetch and each access of kernel
and program. The counts are exact for the model, which has no prefetching and no trace cache.
"""

from __future__ import annotations

from dataclasses import replace

from lab.pictures.bars import Bar, bar_picture
from lab.reproduce.measured import TICK_HZ, Found, Measurement, Misses, measure_all
from lab.reproduce.outcome import Experiment, Outcome, Row, Settings
from lab.reproduce.ticks import RATES_HZ, SCALED, phases

#: Sizes: [Tsafrir05 Table 1]; ways and lines: Intel's optimization manuals. The trace cache of the P-IV, 12 K
#: micro operations, is modelled as 16 KB of code. M2 and M3 have the same caches.
MODELS = {
    "M1": "16384/4/32:16384/4/32:262144/8/32",
    "M2, M3": "16384/8/64:8192/4/64:524288/8/64",
    "M4": "16384/8/64:16384/8/64:1048576/8/64",
}
#: The function whose run is the measured window: the loop of phases.
LOOP = "intervals_measure"


def short(name: str) -> str:
    """Returns a processor's name without blanks and commas, for the plugin."""
    return name.replace(", ", "+")


def watched(what: Measurement) -> Measurement:
    models = tuple(f"{short(name)}:{caches}" for name, caches in MODELS.items())
    return replace(what, watched=LOOP, caches=models)


def misses(found: Found, model: str, who: str) -> Misses:
    return found.watched().misses[short(model), who]


def a_phase(found: Found, count: float) -> float:
    """Returns a count per phase."""
    return count / found.phases().count


def fig6(settings: Settings) -> Outcome:
    rates = RATES_HZ[1:3] if settings.quick else RATES_HZ
    wanted = {
        f"{hz} Hz": watched(phases("linux", settings, (hz // TICK_HZ).bit_length() - 1, policy="fifo"))
        for hz in rates
    }
    found = measure_all(settings, {**wanted, "Tacet": watched(phases("tacet", settings))})
    tacet = found["Tacet"]

    def all_misses(one: Found, model: str, level: str) -> float:
        return a_phase(one, sum(getattr(misses(one, model, who), level) for who in ("program", "kernel")))

    rows = []
    for model in MODELS:
        for hz in rates:
            ours = {"Linux": all_misses(found[f"{hz} Hz"], model, "first")}
            if hz == rates[0]:
                ours["Tacet"] = all_misses(tacet, model, "first")
            rows.append(Row(f"{model}, {hz} Hz: L1 misses in a phase", None, ours))
        for hz in (rates[0], rates[-1]):
            ours = {"Linux": all_misses(found[f"{hz} Hz"], model, "second")}
            rows.append(Row(f"{model}, {hz} Hz: L2 misses in a phase", None, ours))
        slowest, fastest = (found[f"{hz} Hz"] for hz in (rates[0], rates[-1]))
        for level, name, said in (("first", "L1", "up to 6.6 (M2)"), ("second", "L2", "hardly affected")):
            ratio = all_misses(fastest, model, level) / all_misses(slowest, model, level)
            published = said if model != "M1" else None
            rows.append(Row(f"{model}: {name}, {rates[-1]} Hz / {rates[0]} Hz", published, {"Linux": ratio}))
    ticked = found["1000 Hz"]
    ticks = ticked.watched().interruptions
    rows.append(
        Row(
            "a tick at 1000 Hz: instructions",
            None,
            {"Linux": ticked.watched().instructions["kernel"] / ticks},
        )
    )
    for model in MODELS:
        kernel, program = (misses(ticked, model, who) for who in ("kernel", "program"))
        alone = misses(tacet, model, "program")
        rows += [
            Row(f"  {model}: its L1 misses", None, {"Linux": kernel.first / ticks}),
            Row(f"  {model}: its L2 misses", None, {"Linux": kernel.second / ticks}),
            Row(
                f"  {model}: L1 misses of the program after it",
                None,
                {"Linux": (program.first - alone.first) / ticks},
            ),
        ]
    rows.append(
        Row(
            "interruptions of the loop",
            None,
            {"Linux": float(ticks), "Tacet": float(tacet.watched().interruptions)},
        )
    )
    notes = (
        f"{tacet.phases().count:,} phases of 1 ms, SCHED_FIFO. Models of caches in QEMU: least recently used "
        "replacement, no prefetching, virtual addresses; sizes as in the paper's Table 1, the trace cache as "
        "16 KB of code. The paper counted on processors; its text does not have its figure's values.",
        SCALED,
        "A phase reads no data and writes eight bytes: the misses on Tacet are the new lines of that array.",
    )
    parts = {"program, code": ("program", "code"), "program, data": ("program", "data")}
    parts |= {"kernel, code": ("kernel", "code"), "kernel, data": ("kernel", "data")}
    bars = [
        Bar(
            f"{model}: {name if name == 'Tacet' else 'Linux, ' + name}",
            {
                part: a_phase(one, getattr(misses(one, model, who), level))
                for part, (who, level) in parts.items()
            },
        )
        for model in list(MODELS)[1:]
        for name, one in found.items()
    ]
    title = "Cache misses by the tick's rate [Tsafrir05 Fig. 6]"
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: bar_picture(
            bars, path, x="misses of the first level in a phase of 1 ms", title=title, notes=notes[1:2],
            width=width,
        ),
    )  # fmt: skip


EXPERIMENTS = (
    Experiment(
        "tsafrir-fig6",
        "Tsafrir05 §3.2, Fig. 6",
        "cache misses by the tick's rate: measured",
        fig6,
        measured=True,
    ),
)
