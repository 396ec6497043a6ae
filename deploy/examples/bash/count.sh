#!/bin/bash
# Adds up the squares of 0 .. STEPS-1, one a step, and can be interrupted between any two of them.
#
#   count.sh [--steps N] [--step-ms MS] [--save-every N] [--out FOLDER]
#
# OUT/rank-0.txt gets a line "ATTEMPT STEP" for every step done, OUT/result the sum. A save is a file "STEP SUM" in the
# checkpoint folder. Off the cluster glim-task is left out and nothing interrupts.
set -euo pipefail

steps=500 step_ms=20 save_every=100 out=out
while [ $# -gt 0 ]; do
  case "$1" in
    --steps) steps=$2 ;;
    --step-ms) step_ms=$2 ;;
    --save-every) save_every=$2 ;;
    --out) out=$2 ;;
    *) echo "count.sh: '$1' is no flag of it" >&2; exit 2 ;;
  esac
  shift 2
done
attempt=${GLIM_ATTEMPT:-1}
saves=${GLIM_CHECKPOINT_DIR:-$out/saves}
pause=$(printf '%d.%03d' $((step_ms / 1000)) $((step_ms % 1000)))
mkdir -p "$out" "$saves"

tell() {  # what Glim is told; a no-op off the cluster
  [ -z "${GLIM_SOCKET:-}" ] || glim-task "$@"
}

interrupted() {
  [ -n "${GLIM_SOCKET:-}" ] && glim-task interrupted
}

# Whole or not at all, and on the disk before anybody is told.
save() {  # STEP SUM
  local path=$saves/step-$1
  echo "$1 $2" >"$path.part"
  sync "$path.part"
  mv "$path.part" "$path"
  sync "$saves"
  tell saved --step "$1" --path "$path"
}

step=0 sum=0
if [ -n "${GLIM_RESUME_PATH:-}" ]; then
  read -r step sum <"$GLIM_RESUME_PATH"
  tell restored "$step"
  step=$((step + 1))
  echo "attempt $attempt goes on with step $step"
fi

while [ "$step" -lt "$steps" ]; do
  sum=$((sum + step * step))
  sleep "$pause"
  echo "$attempt $step" >>"$out/rank-0.txt"
  tell progress "$step"
  if interrupted; then
    save "$step" "$sum"
    echo "interrupted after step $step"
    tell leave
    exit 0
  fi
  if [ $(((step + 1) % save_every)) -eq 0 ]; then
    save "$step" "$sum"
  fi
  step=$((step + 1))
done

echo "$sum" >"$out/result.part"
mv "$out/result.part" "$out/result"
echo "the sum is $sum"
