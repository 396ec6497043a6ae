// Training of shell for jobs of tests: it tells its steps, saves when it is asked to leave, and goes on where it was.
export const TRAINING = `step=0
if [ -n "\${GLIM_RESUME_PATH:-}" ]; then
  read -r step <"$GLIM_RESUME_PATH"; glim-task restored "$step"; step=$((step + 1))
fi
while :; do
  sleep 0.1; glim-task progress "$step"; echo "step $step: loss 0.$((9000 - step % 5000)), 412 samples/s"
  if glim-task interrupted; then
    echo "$step" >"$GLIM_CHECKPOINT_DIR/step-$step"
    glim-task saved --step "$step" --path "$GLIM_CHECKPOINT_DIR/step-$step"; glim-task leave; exit 0
  fi
  step=$((step + 1))
done`;
