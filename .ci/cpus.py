"""Run the float-sensitive tests (mark ``floats``) as on other kinds of machines, which environment variables imitate.

    python .ci/cpus.py               # all combinations, about five minutes on two cores
    python .ci/cpus.py zen -k exact  # one of them; options of pytest follow the names

Vector instructions decide in which order numbers are summed and where a product is rounded before it is added to
another, so last bits differ between kinds of machines. What a machine lacks is skipped in words.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).resolve().parents[1]
CPUINFO = Path("/proc/cpuinfo")
#: What the fits of each combination found.
FOLDER = ROOT / "build" / "cpus"
COMPARED = "tests/test_cpus.py"  # writes its fits into a folder and compares them with those of other combinations
#: What numpy chooses between when it runs, as far as this machine has it. Its names differ between versions.
NUMPY = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
NUMPY_AVX512 = [name for name in NUMPY if "AVX512" in name or name == "X86_V4"]
#: The C library chooses its log and exp by the processor.
GENERIC = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable,-FMA4_Usable"}


@dataclass(frozen=True)
class Combination:
    """One kind of machine: what it is, the instructions it needs, and the variables that imitate it."""

    name: str
    what: str
    threads: int
    variables: dict[str, str]
    needs: tuple[str, ...] = field(default=())  # flags of /proc/cpuinfo

    def environment(self) -> dict[str, str]:
        """Return the variables of this process with those of the combination."""
        count = str(self.threads)
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), count)
        own = {"DRBO_CPUS_FOLDER": str(FOLDER / "fits"), "DRBO_CPUS_NAME": self.name, "OMP_WAIT_POLICY": "passive"}
        return os.environ | threads | own | self.variables


COMBINATIONS = (
    Combination(
        "sse",
        "no instructions beyond SSE3 in any library, one thread",
        1,
        {
            "ATEN_CPU_CAPABILITY": "default",
            "MKL_CBWR": "COMPATIBLE",
            "OPENBLAS_CORETYPE": "Prescott",
            "NPY_DISABLE_CPU_FEATURES": " ".join(NUMPY),
            **GENERIC,
        },
    ),
    Combination(
        "haswell",
        "an Intel processor with AVX2, two threads",
        2,
        {
            "ATEN_CPU_CAPABILITY": "avx2",
            "OPENBLAS_CORETYPE": "Haswell",
            "NPY_DISABLE_CPU_FEATURES": " ".join(NUMPY_AVX512),
        },
        needs=("avx2", "fma"),
    ),
    Combination(
        "zen",
        "an AMD processor with AVX2, one thread, the C library of a plain machine",
        1,
        {
            "ATEN_CPU_CAPABILITY": "avx2",
            "OPENBLAS_CORETYPE": "Zen",
            "NPY_DISABLE_CPU_FEATURES": " ".join(NUMPY_AVX512),
            **GENERIC,
        },
        needs=("avx2", "fma"),
    ),
    Combination(
        "mixed",
        "the libraries of a plain machine beside the C library of this one, two threads",
        2,
        {
            "ATEN_CPU_CAPABILITY": "default",
            "MKL_CBWR": "COMPATIBLE",
            "OPENBLAS_CORETYPE": "Prescott",
            "NPY_DISABLE_CPU_FEATURES": " ".join(NUMPY),
        },
    ),
)

#: Prints what the libraries took notice of, where it is not what was asked for.
PROBE = """
import os, torch
from numpy._core._multiarray_umath import __cpu_features__
asked = os.environ["ATEN_CPU_CAPABILITY"].upper()
if torch.backends.cpu.get_cpu_capability() != asked:
    print(f"torch uses {torch.backends.cpu.get_cpu_capability()}, not {asked}")
on = [name for name in os.environ["NPY_DISABLE_CPU_FEATURES"].split() if __cpu_features__[name]]
if on:
    print(f"numpy still uses {', '.join(on)}")
"""


def lacking(combination: Combination) -> str:
    """Return why this machine cannot imitate a combination, in words; empty where it can."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"this machine is {platform.machine()}, not x86-64"
    try:
        lines = CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"the instructions of this machine are not known: {CPUINFO} cannot be read"
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    missing = [name for name in combination.needs if name not in flags]
    return f"this machine has no {' and no '.join(missing)}" if missing else ""


def run(combination: Combination, options: list[str]) -> str:
    """Run the marked tests; return how it went, in words, beginning with ok, skipped or failed."""
    print(f"\n=== {combination.name}: {combination.what} ===", flush=True)
    if words := lacking(combination):
        return f"skipped: {words}"
    for name, value in combination.variables.items():
        print(f"    {name}={value}", flush=True)
    environment = combination.environment()
    probe = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if probe.returncode or probe.stdout:
        return f"failed: the machine is not imitated: {(probe.stdout or probe.stderr).strip()}"
    start = time.monotonic()
    code = pytest(environment, "-m", "floats", "-n", "2", "--dist", "loadfile", *options)
    return f"{'failed' if code else 'ok'}: {time.monotonic() - start:.0f} s"


def pytest(environment: dict[str, str], *options: str) -> int:
    """Run pytest, and return its exit code."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    """Run the combinations, and end with how each went."""
    names = [combination.name for combination in COMBINATIONS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"combinations to run, of {', '.join(names)}; all of them without")
    arguments, options = parser.parse_known_args()
    if unknown := set(arguments.names) - set(names):
        parser.error(f"combinations are {', '.join(names)}, got {', '.join(sorted(unknown))}")
    shutil.rmtree(FOLDER / "fits", ignore_errors=True)
    print("=== this machine as it is: the fits that the others are compared with ===", flush=True)
    host = Combination("host", "this machine as it is", 1, {})
    outcomes = {"host": "failed" if pytest(host.environment(), COMPARED) else "ok"}
    for combination in COMBINATIONS:
        if not arguments.names or combination.name in arguments.names:
            outcomes[combination.name] = run(combination, options)
    print("\n=== summary ===")
    for name, words in outcomes.items():
        print(f"{name:<8} {words}")
    return int(any(words.startswith("failed") for words in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
