#!/usr/bin/env bash
# Train on two nodes of a SLURM cluster (or on more: sbatch --nodes=4 …), one process a GPU:
#
#   sbatch examples/slurm_train.sh finetune --model ORG/PRETRAINED --corpus snli --output-dir /shared/runs/a
#
# with what `unbag train` takes; --output-dir is a folder that all nodes see. A job that was stopped goes on from its last
# checkpoint when it is queued again, as --requeue has it done after a node has failed.
#SBATCH --job-name=unbag-train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --output=%x-%j.log
set -euo pipefail

first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
# One torchrun a node. They meet at the first node's; its port is one of this job alone.
exec srun torchrun \
    --nnodes "$SLURM_NNODES" \
    --nproc_per_node "${SLURM_GPUS_ON_NODE:-1}" \
    --rdzv_id "$SLURM_JOB_ID" \
    --rdzv_backend c10d \
    --rdzv_endpoint "$first:${RENDEZVOUS_PORT:-$((20000 + SLURM_JOB_ID % 10000))}" \
    -m unbag train "$@"
