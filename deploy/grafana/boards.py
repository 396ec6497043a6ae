"""The dashboards as data: rows of panels, each with its queries. make_dashboards.py writes the JSON from it.

A panel is (title, unit, [(query, legend)]) and may say more: `kind` (timeseries, stat), `may_be_empty` (nothing may
have happened yet that it shows), `about` (what is to be known beside docs/metrics.md)."""

RATE = "$__rate_interval"


def panel(title, unit, *queries, kind="timeseries", may_be_empty=False, about=""):
    return {
        "title": title,
        "unit": unit,
        "queries": queries,
        "kind": kind,
        "may_be_empty": may_be_empty,
        "about": about,
    }


def share(part, whole):
    return f"sum({part}) / sum({whole})"


def quantile(share_of, metric, by=""):
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share_of}, sum by ({labels}) (rate({metric}_bucket[{RATE}])))"


def quantiles(metric, by="", legend="", shares=(0.5, 0.99)):
    return [(quantile(one, metric, by), f"p{round(one * 100)} {legend}".strip()) for one in shares]


def rate_by(metric, by, times=1):
    factor = f"{times} * " if times != 1 else ""
    return (f"{factor}sum by ({by}) (rate({metric}[{RATE}]))", f"{{{{{by}}}}}")


PRODUCTIVE = share('glim_gpus{use="productive"}', "glim_gpus")
UNFINISHED = 'glim_jobs{state!~"succeeded|failed|cancelled"}'

NODES_FAULT = '{outcome=~"node_failure|gpu_failure|network|hang|start_failed"}'

BOARDS = {
    "overview": (
        "Glim: overview",
        [
            [
                panel("Leads", "none", ("glim_leader", "leader"), kind="stat"),
                panel("Outage", "none", ("glim_outage", "outage"), kind="stat"),
                panel("Store away", "none", ("glim_store_away", "away"), kind="stat"),
                panel("GPUs that train", "percentunit", (PRODUCTIVE, "productive"), kind="stat"),
                panel("Nodes", "none", ("sum(glim_nodes)", "nodes"), kind="stat"),
                panel("Jobs that wait", "none", ("sum(glim_pending_jobs)", "queued"), kind="stat", may_be_empty=True),
            ],
            [
                panel("GPUs by use", "none", ("glim_gpus", "{{use}}")),
                panel("Unfinished jobs", "none", (f"sum by (state) ({UNFINISHED})", "{{state}}")),
            ],
            [
                panel("Nodes by state", "none", ("sum by (state) (glim_nodes)", "{{state}}")),
                panel("Alerts", "none", ('ALERTS{alertname=~"Glim.*"}', "{{alertname}}"), may_be_empty=True),
            ],
            [
                panel("Waits that ended", "s", *quantiles("glim_job_wait_seconds")),
                panel("Interrupts an hour", "none", rate_by("glim_interrupts_total", "outcome", 3600)),
            ],
        ],
    ),
    "queue": (
        "Glim: queue and waits",
        [
            [
                panel(
                    "Why queued jobs wait",
                    "none",
                    ("sum by (reason) (glim_pending_jobs)", "{{reason}}"),
                    may_be_empty=True,
                    about="the main reason of each; `glim why JOB` has them all",
                ),
                panel(
                    "Queued jobs by pool",
                    "none",
                    ("sum by (pool) (glim_pending_jobs)", "{{pool}}"),
                    may_be_empty=True,
                ),
            ],
            [
                panel("Waits by class, median", "s", (quantile(0.5, "glim_job_wait_seconds", "class"), "{{class}}")),
                panel("Waits by class, p90", "s", (quantile(0.9, "glim_job_wait_seconds", "class"), "{{class}}")),
            ],
            [
                panel(
                    "Waits by nodes, median", "s", (quantile(0.5, "glim_job_wait_seconds", "size"), "{{size}} nodes")
                ),
                panel("Waits by nodes, p90", "s", (quantile(0.9, "glim_job_wait_seconds", "size"), "{{size}} nodes")),
            ],
            [
                panel("Starts a minute", "none", rate_by("glim_job_wait_seconds_count", "class", 60)),
                panel("From all nodes to running", "s", *quantiles("glim_job_start_seconds")),
            ],
            [
                panel("Attempts that end, a minute", "none", rate_by("glim_attempts_ended_total", "outcome", 60)),
                panel(
                    "Waits within starvation_bound",
                    "percentunit",
                    (
                        share(
                            f'rate(glim_promises_total{{promise="wait",result="kept"}}[{RATE}])',
                            f'rate(glim_promises_total{{promise="wait"}}[{RATE}])',
                        ),
                        "kept",
                    ),
                ),
            ],
        ],
    ),
    "interrupts": (
        "Glim: interrupts",
        [
            [
                panel("By why, an hour", "none", rate_by("glim_interrupts_total", "cause", 3600)),
                panel("By how they left, an hour", "none", rate_by("glim_interrupts_total", "outcome", 3600)),
            ],
            [
                panel("Phases, median", "s", (quantile(0.5, "glim_interrupt_seconds", "phase"), "{{phase}}")),
                panel("Phases, p99", "s", (quantile(0.99, "glim_interrupt_seconds", "phase"), "{{phase}}")),
            ],
            [
                panel("From request to release", "s", *quantiles("glim_interrupt_whole_seconds")),
                panel(
                    "Promises that were broken, an hour",
                    "none",
                    (
                        f'3600 * sum by (promise) (rate(glim_promises_total{{result="broken"}}[{RATE}]))',
                        "{{promise}}",
                    ),
                ),
            ],
            [
                panel(
                    "Cost to those who were asked",
                    "none",
                    rate_by("glim_preemption_cost_gpu_seconds_total", "part"),
                    about="GPUs: GPU-seconds a second",
                ),
                panel("Age of saves", "s", ("glim_checkpoint_age_seconds", "{{stat}}"), may_be_empty=True),
            ],
        ],
    ),
    "nodes": (
        "Glim: nodes",
        [
            [
                panel("By state", "none", ("sum by (state) (glim_nodes)", "{{state}}")),
                panel("By zone", "none", ("sum by (zone) (glim_nodes)", "{{zone}}")),
            ],
            [
                panel(
                    "Why no job starts there",
                    "none",
                    ("glim_nodes_out", "{{reason}}"),
                    ("glim_nodes_reserved", "reserved: for a team alone, or for nobody"),
                    may_be_empty=True,
                    about="`glim nodes` names them, with the evidence",
                ),
                panel(
                    "Agents with a stream",
                    "none",
                    ("glim_agents_connected", "connected"),
                    ("sum(glim_nodes)", "registered"),
                ),
            ],
            [
                panel("Heard last", "s", ("glim_node_heartbeat_age_seconds", "{{stat}}")),
                panel(
                    "Attempts that nodes ended, an hour",
                    "none",
                    (
                        f"3600 * sum by (outcome) (rate(glim_attempts_ended_total{NODES_FAULT}[{RATE}]))",
                        "{{outcome}}",
                    ),
                ),
            ],
            [
                panel("Refused by TLS, an hour", "none", rate_by("glim_tls_refused_total", "reason", 3600)),
                panel(
                    "Nodes with exposed sockets, with copies in memory",
                    "none",
                    ("glim_nodes_with_exposed_sockets", "exposed sockets"),
                    ("glim_nodes_validation_overdue", "overdue to be measured"),
                    ("glim_nodes_with_replicas", "replica services"),
                ),
            ],
            [
                panel(
                    "Health: what is found now",
                    "none",
                    ("sum by (check) (glim_health_conditions)", "{{check}}"),
                    ("glim_nodes_out_by_health", "nodes that are out for it"),
                    ("glim_nodes_unreliable", "nodes in which jobs fail again and again"),
                    may_be_empty=True,
                    about="`glim nodes NODE` has the evidence",
                ),
                panel(
                    "Health: what happened, an hour",
                    "none",
                    rate_by("glim_health_events_total", "check", 3600),
                    (
                        f'3600 * sum by (code) (rate(glim_health_events_total{{check="xid"}}[{RATE}]))',
                        "Xid {{code}}",
                    ),
                    may_be_empty=True,
                ),
            ],
        ],
    ),
    "goodput": (
        "Glim: goodput",
        [
            [
                panel(
                    "Where the GPU time goes",
                    "percentunit",
                    (
                        f"sum by (use) (rate(glim_gpu_seconds_total[{RATE}])) / on () group_left "
                        f"sum(rate(glim_gpu_seconds_total[{RATE}]))",
                        "{{use}}",
                    ),
                ),
                panel("GPUs by use", "none", ("glim_gpus", "{{use}}")),
                panel(
                    "Running jobs that leave their GPUs idle",
                    "none",
                    ("glim_attempts_gpus_idle", "jobs"),
                    about="none of their GPUs was busy for health.idle_gpus.warn_after; their users were warned",
                ),
                panel(
                    "Running jobs whose newest save failed",
                    "none",
                    ("glim_attempts_saves_failing", "jobs"),
                    about="what they have done since their last good save is lost if they are interrupted now",
                ),
            ],
            [
                panel(
                    "Goodput",
                    "percentunit",
                    (
                        f'(sum(rate(glim_gpu_seconds_total{{use="productive"}}[{RATE}])) '
                        f"- sum(rate(glim_lost_gpu_seconds_total[{RATE}]))) "
                        f"/ sum(rate(glim_gpu_seconds_total[{RATE}]))",
                        "productive and kept",
                    ),
                    about="what was lost counts when it is lost, and not when it was made",
                ),
                panel("Lost, by how", "none", rate_by("glim_lost_gpu_seconds_total", "cause")),
            ],
            [
                panel(
                    "Overhead of starting, restoring and stopping",
                    "percentunit",
                    (
                        share(
                            f'rate(glim_gpu_seconds_total{{use=~"claimed|starting|restoring|stopping"}}[{RATE}])',
                            f"rate(glim_gpu_seconds_total[{RATE}])",
                        ),
                        "overhead",
                    ),
                ),
                panel("At risk until the next saves", "none", ("glim_at_risk_gpu_seconds / 3600", "GPU-hours")),
            ],
        ],
    ),
    "scheduler": (
        "Glim: the scheduler itself",
        [
            [
                panel("Planning passes", "s", *quantiles("glim_sched_pass_seconds")),
                panel("Commits", "s", *quantiles("glim_store_commit_seconds")),
            ],
            [
                panel("Users' calls", "s", *quantiles("glim_api_request_seconds")),
                panel(
                    "Slowest methods, p99", "s", (quantile(0.99, "glim_api_request_seconds", "method"), "{{method}}")
                ),
            ],
            [
                panel("Answers a second", "none", rate_by("glim_api_answers_total", "code")),
                panel("Events that wait", "none", ("glim_events_waiting", "waiting")),
            ],
            [
                panel("Held of the bounds", "percentunit", ("glim_calls_held / glim_calls_held_max", "{{bound}}")),
                panel("Bytes that wait", "bytes", ("glim_calls_held_bytes", "bytes")),
            ],
            [
                panel("Refused by bounds, a second", "none", rate_by("glim_refused_calls_total", "bound")),
                panel("Denied, a second", "none", rate_by("glim_denied_calls_total", "reason")),
            ],
            [
                panel("Notifications an hour", "none", rate_by("glim_notifications_total", "outcome", 3600)),
                panel("Notifications that wait", "none", ("glim_notifications_waiting", "waiting")),
                panel("The oldest of them", "s", ("glim_notifications_oldest_seconds", "since it happened")),
            ],
            [
                panel("Processor", "none", (f"rate(process_cpu_seconds_total[{RATE}])", "cores")),
                panel("Memory", "bytes", ("process_resident_memory_bytes", "resident")),
                panel("Descriptors", "percentunit", ("process_open_fds / process_max_fds", "open")),
                panel("Epoch", "none", ("glim_leader_epoch", "epoch"), kind="stat"),
            ],
        ],
    ),
}
