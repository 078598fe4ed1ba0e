#!/usr/bin/env bash
# Build, evaluate and train on machines of the Hub (hf jobs). What a job leaves goes to the Hub, since its disk goes with
# it. HF_TOKEN, from the environment, may write to ORG.
#
#   examples/hf_jobs.sh build ORG permuted --corpus snli                  # the set goes to ORG/permuted
#   examples/hf_jobs.sh evaluate ORG ORG/MODEL --full                     # the numbers go to ORG/unbag-results
#   examples/hf_jobs.sh train ORG/NAME finetune --model ORG/PRETRAINED    # the model goes to ORG/NAME
#
# FLAVOR names another machine (hf jobs hardware lists them), TIMEOUT another limit. A training that was cut off goes on
# when the command is given again with --resume-from-checkpoint ORG/NAME-checkpoints.
set -euo pipefail

on() { # a machine, and a command of unbag to run there
    local machine=$1
    shift
    # shellcheck disable=SC2016 # "$@" is for the shell of the job
    hf jobs run --detach --flavor "${FLAVOR:-$machine}" --timeout "${TIMEOUT:-6h}" --secrets HF_TOKEN python:3.12 \
        bash -c 'pip install --quiet "unbag[models]" && exec unbag "$@"' unbag "$@"
}

job=$1 to=$2
shift 2
case $job in
build) on cpu-performance publish dataset "$@" --repo-id "$to" --num-proc 8 --yes ;;
evaluate) on l4x1 evaluate "$@" --output-dir /tmp/run --num-proc 4 --push-results "$to" ;;
train) on l4x1 train "$@" --output-dir /tmp/model --push-checkpoints "$to-checkpoints" --push-results "$to" ;;
*) echo "expected build, evaluate or train, found $job" >&2 && exit 2 ;;
esac
