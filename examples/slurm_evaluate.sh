#!/usr/bin/env bash
# Evaluate a model on a SLURM cluster with an array of jobs, one job per shard. Run this script on a login node:
#
#   examples/slurm_evaluate.sh 8 /shared/runs/a ORG/MODEL --full
#
# Arguments: number of shards, output folder on shared storage (or its URL, s3://…), arguments of `unbag evaluate`.
# Shards may run at different times. If a shard is killed, the last job predicts the rest of its work. To resume stopped
# shards instead, run the same command again.
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
# This job scores. If shards failed, it predicts their missing chunks.
sbatch --dependency="afterany:$array" --job-name=unbag-score --output=%x-%j.log \
    --wrap "unbag score --run-dir $(printf %q "$out")"
