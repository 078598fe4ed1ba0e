"""Stub programs that replace those of a cluster for the scripts in `examples/`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def find_program(name):
    """Find a program of the environment of this Python, whether it is activated or not, or else on the path."""
    return shutil.which(name, path=Path(sys.executable).parent) or shutil.which(name)


HF = find_program("hf")

UNBAG = f'exec "{sys.executable}" -m unbag "$@"'
TORCHRUN = f'exec "{sys.executable}" -m torch.distributed.run "$@"'

SBATCH = """
# Runs an array's tasks at the same time, as processes, and waits; a job alone as it comes. Prints a job's number.
set -eu
array= wrap=
while [ $# -gt 0 ]; do
    case $1 in
    --array=0-*) array=${1#--array=0-} ;;
    --wrap) wrap=$2; shift ;;
    --*) ;;
    *) break ;;
    esac
    shift
done
if [ -n "$wrap" ]; then
    sh -c "$wrap" > score.log 2>&1
elif [ -n "$array" ]; then
    for task in $(seq 0 "$array"); do
        SLURM_ARRAY_TASK_ID=$task "$@" > "shard-$task.log" 2>&1 &
    done
    wait
else
    SLURM_JOB_ID=7 SLURM_NNODES=2 SLURM_JOB_NODELIST=node[1-2] "$@"
fi
echo 7
"""

SRUN = """
# Runs a command once a node, on this machine.
set -eu
for node in $(seq "${SLURM_NNODES:-1}"); do
    SLURM_NODEID=$((node - 1)) "$@" &
    started="${started:-} $!"
done
code=0
for each in $started; do wait "$each" || code=$?; done
exit "$code"
"""

SCONTROL = "printf 'localhost\\nlocalhost\\n'"


def run_script(name, *arguments, programs, folder, **environment):
    """Run a script of `examples/` in a folder, with the stub programs first on PATH."""
    places = folder / "bin"
    places.mkdir(exist_ok=True)
    for program, text in programs.items():
        (places / program).write_text(f"#!/bin/sh\n{text}\n")
        (places / program).chmod(0o755)
    path = os.pathsep.join([str(places), os.environ["PATH"]])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PATH": path, **environment}
    return subprocess.run(
        [str(EXAMPLES / name), *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
