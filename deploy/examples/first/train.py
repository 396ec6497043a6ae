import os, sys, time
import glim, torch

steps, pause = int(os.environ.get("STEPS", "600")), float(os.environ.get("STEP_SECONDS", "0.1"))
torch.manual_seed(1)
model = torch.nn.Linear(8, 1)
optim = torch.optim.Adam(model.parameters(), lr=0.02)

with glim.session() as run:                       # off the cluster: a no-op
    run.track(model=model, optim=optim)           # what a save is made of
    first = run.restore()                         # 0, or the step after the last save
    print("begins with step", first, flush=True)
    for step in run.steps(range(steps), save_every=100):
        x = torch.rand(64, 8)                     # the numbers that an undisturbed run would draw
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        run.progress(loss=loss.item())
        time.sleep(pause)                         # your model takes its time by itself
if run.stopped:                                   # interrupted: saved, and Glim runs this script again later
    sys.exit(0)
print(f"done after {steps} steps, loss {run.loss}", flush=True)
