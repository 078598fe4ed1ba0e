#!/usr/bin/env bash
# Train on two nodes of a SLURM cluster (more: sbatch --nodes=4 …), one process per GPU:
#
#   sbatch examples/slurm_train.sh finetune --model ORG/PRETRAINED --corpus snli --output-dir /shared/runs/a
#
# Arguments: those of `unbag train`; --output-dir must be on shared storage. A job that is queued again resumes from its
# last checkpoint. With --requeue, SLURM queues the job again after a node failure.
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
# One torchrun per node. The rendezvous is on the first node; a port derived from the job id avoids collisions between
# jobs on one node.
exec srun torchrun \
    --nnodes "$SLURM_NNODES" \
    --nproc_per_node "${SLURM_GPUS_ON_NODE:-1}" \
    --rdzv_id "$SLURM_JOB_ID" \
    --rdzv_backend c10d \
    --rdzv_endpoint "$first:${RENDEZVOUS_PORT:-$((20000 + SLURM_JOB_ID % 10000))}" \
    -m unbag train "$@"
