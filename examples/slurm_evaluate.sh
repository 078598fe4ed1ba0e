#!/usr/bin/env bash
# Evaluate a model on a SLURM cluster by an array of jobs, each a shard. Run it where sbatch is:
#
#   examples/slurm_evaluate.sh 8 /shared/runs/a ORG/MODEL --full
#
# which are the number of shards, a folder that all nodes see (or its address, s3://…), and what `unbag evaluate` takes.
# Shards need not run at the same time, and none waits for one that was killed: the others do what it leaves. Where all
# of them were stopped, the same command goes on.
#SBATCH --job-name=unbag-evaluate
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --time=04:00:00
#SBATCH --output=%x-%A_%a.log
set -euo pipefail

shards=$1 out=$2
shift 2
if [[ -n ${SLURM_ARRAY_TASK_ID:-} ]]; then
    exec srun unbag evaluate "$@" --shard "$SLURM_ARRAY_TASK_ID/$shards" --output-dir "$out"
fi
array=$(sbatch --parsable --array="0-$((shards - 1))" "$0" "$shards" "$out" "$@")
# The last shard scores. This scores again, however the shards ended: or it names the parts that are missing.
sbatch --dependency="afterany:$array" --job-name=unbag-score --output=%x-%j.log \
    --wrap "unbag score --run-dir $(printf %q "$out")"
