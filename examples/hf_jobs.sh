#!/usr/bin/env bash
# Build, evaluate and train on machines of the Hub (hf jobs). The disk of a job is deleted with the job, so every job
# pushes its output to the Hub. HF_TOKEN in the environment must have write access to ORG.
#
#   examples/hf_jobs.sh build ORG permuted --corpus snli                  # pushes the set to ORG/permuted
#   examples/hf_jobs.sh evaluate ORG ORG/MODEL --full                     # pushes the results to ORG/unbag-results
#   examples/hf_jobs.sh train ORG/NAME finetune --model ORG/PRETRAINED    # pushes the model to ORG/NAME
#
# FLAVOR selects another machine (`hf jobs hardware` lists them), TIMEOUT another time limit. To resume an interrupted
# training, run the command again with --resume-from-checkpoint ORG/NAME-checkpoints.
set -euo pipefail

run_on() { # MACHINE UNBAG_ARGUMENTS...
    local machine=$1
    shift
    # shellcheck disable=SC2016 # the shell of the job expands "$@"
    hf jobs run --detach --flavor "${FLAVOR:-$machine}" --timeout "${TIMEOUT:-6h}" --secrets HF_TOKEN python:3.12 \
        bash -c 'pip install --quiet "unbag[models]" && exec unbag "$@"' unbag "$@"
}

job=$1 to=$2
shift 2
case $job in
build) run_on cpu-performance publish dataset "$@" --repo-id "$to" --num-proc 8 --yes ;;
evaluate) run_on l4x1 evaluate "$@" --output-dir /tmp/run --num-proc 4 --push-results "$to" ;;
train) run_on l4x1 train "$@" --output-dir /tmp/model --push-checkpoints "$to-checkpoints" --push-results "$to" ;;
*) echo "expected build, evaluate or train, got $job" >&2 && exit 2 ;;
esac
