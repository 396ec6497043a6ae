// The table of the variables that a task finds in its environment: the contract between the scheduler and the agents,
// who set them, and the Python SDK, hfreduce, glim-task and jobs, who read them. C++ includes this file (variables.h);
// tests of the Python SDK and of docs/job-spec.md read it as text.
//
// GLIM_TASK_VARIABLE(identifier, name, set by, when, form, read by, meaning)
//
// set by:  Scheduler; Agent; Either (the scheduler, or the agent where it alone knows); Shim;
//          Default (the agent, unless the job's `env` says otherwise). A job's `env` does not reach the others.
// when:    Always; PerGpu (launcher: per-gpu); PerNode (launcher: node); Sometimes (the meaning says when).
// form:    Text; Count (0 and above); Step (-1 and above); Flag (1, or 0 or not set); Path (absolute); Port; Host;
//          Address (host:port); Peer (key@host:port). Texts, Counts, Hosts, Peers: several, with commas in between.
// read by: the parts of Glim that read it. Jobs may read all of them.

// The job and the attempt.
GLIM_TASK_VARIABLE(kJobId, "GLIM_JOB_ID", Scheduler, Always, Count, "python hfreduce", "the job's number")
GLIM_TASK_VARIABLE(kJobName, "GLIM_JOB_NAME", Scheduler, Always, Text, "", "the job's name")
GLIM_TASK_VARIABLE(kAttempt, "GLIM_ATTEMPT", Scheduler, Always, Count, "python hfreduce",
                   "the attempt's number; the first is 1")
GLIM_TASK_VARIABLE(kTask, "GLIM_TASK", Shim, Always, Text, "",
                   "`job.attempt.index`; every process of the task has it, so that each is found")
GLIM_TASK_VARIABLE(kSocket, "GLIM_SOCKET", Agent, Always, Path, "python glim-task",
                   "the task socket (protocols/task-socket.md)")

// The gang.
GLIM_TASK_VARIABLE(kNodeRank, "GLIM_NODE_RANK", Scheduler, Always, Count, "hfreduce",
                   "this node's number in the gang, from 0")
GLIM_TASK_VARIABLE(kNodes, "GLIM_NNODES", Scheduler, Always, Count, "agent", "how many nodes the gang has")
GLIM_TASK_VARIABLE(kHosts, "GLIM_HOSTS", Scheduler, Sometimes, Hosts, "python hfreduce agent",
                   "the addresses of the gang's nodes, by node rank; not set: they are more than 64 KiB, read the file")
GLIM_TASK_VARIABLE(kHostsFile, "GLIM_HOSTS_FILE", Agent, Always, Path, "python hfreduce",
                   "a file with the addresses of the gang's nodes, one a line, by node rank")
GLIM_TASK_VARIABLE(kZone, "GLIM_ZONE", Scheduler, Always, Text, "", "this node's zone")
GLIM_TASK_VARIABLE(kZones, "GLIM_ZONES", Scheduler, Sometimes, Texts, "hfreduce agent",
                   "the zones of the gang's nodes, by node rank; not set: they are more than 64 KiB, read the file")
GLIM_TASK_VARIABLE(kZonesFile, "GLIM_ZONES_FILE", Agent, Always, Path, "hfreduce",
                   "a file with the zones of the gang's nodes, one a line, by node rank")
GLIM_TASK_VARIABLE(kGateways, "GLIM_GATEWAYS", Scheduler, Always, Counts, "hfreduce",
                   "for a gang in two zones: the node rank in each that exchanges data across; else empty")
GLIM_TASK_VARIABLE(kLeaf, "GLIM_LEAF", Scheduler, Always, Text, "", "this node's leaf switch")
GLIM_TASK_VARIABLE(kGlimRank, "GLIM_RANK", Agent, Always, Count, "python glim-task",
                   "this process as Glim knows it: `RANK`, or with `launcher: node` the node rank")

// What torch and its like expect.
GLIM_TASK_VARIABLE(kMasterAddr, "MASTER_ADDR", Scheduler, Always, Host, "hfreduce", "the first of `GLIM_HOSTS`")
GLIM_TASK_VARIABLE(kMasterPort, "MASTER_PORT", Scheduler, Always, Port, "hfreduce",
                   "a port on that node that is this attempt's alone")
GLIM_TASK_VARIABLE(kTorchNodeRank, "NODE_RANK", Scheduler, Always, Count, "", "`GLIM_NODE_RANK`")
GLIM_TASK_VARIABLE(kTorchNodes, "NNODES", Scheduler, Always, Count, "", "`GLIM_NNODES`")
GLIM_TASK_VARIABLE(kRank, "RANK", Agent, PerGpu, Count, "python hfreduce",
                   "this process' number in the gang, from 0, node by node")
GLIM_TASK_VARIABLE(kLocalRank, "LOCAL_RANK", Agent, PerGpu, Count, "python hfreduce",
                   "this process' number on its node, from 0")
GLIM_TASK_VARIABLE(kWorldSize, "WORLD_SIZE", Scheduler, PerGpu, Count, "python hfreduce",
                   "how many processes the gang has")
GLIM_TASK_VARIABLE(kLocalWorldSize, "LOCAL_WORLD_SIZE", Agent, PerGpu, Count, "hfreduce",
                   "how many processes each node has")
GLIM_TASK_VARIABLE(kPetNodes, "PET_NNODES", Scheduler, PerNode, Count, "",
                   "for a bare `torchrun`, as are the other `PET_` variables: `GLIM_NNODES`")
GLIM_TASK_VARIABLE(kPetNodeRank, "PET_NODE_RANK", Scheduler, PerNode, Count, "", "`GLIM_NODE_RANK`")
GLIM_TASK_VARIABLE(kPetProcesses, "PET_NPROC_PER_NODE", Scheduler, PerNode, Count, "",
                   "`gpus_per_node`, and at least 1")
GLIM_TASK_VARIABLE(kPetMasterAddr, "PET_MASTER_ADDR", Scheduler, PerNode, Host, "", "`MASTER_ADDR`")
GLIM_TASK_VARIABLE(kPetMasterPort, "PET_MASTER_PORT", Scheduler, PerNode, Port, "", "`MASTER_PORT`")

// Saves.
GLIM_TASK_VARIABLE(kCheckpointDir, "GLIM_CHECKPOINT_DIR", Agent, Always, Path, "python", "the job's checkpoint folder")
GLIM_TASK_VARIABLE(kCheckpointLocal, "GLIM_CHECKPOINT_LOCAL", Agent, Sometimes, Flag, "python",
                   "1: that folder is this node's own and the job has several nodes, so only the save that is named "
                   "here can be gone on from")
GLIM_TASK_VARIABLE(kCheckpointEvery, "GLIM_CHECKPOINT_EVERY_MS", Scheduler, Sometimes, Count, "python",
                   "`checkpoint.every` in milliseconds; not set: not said")
GLIM_TASK_VARIABLE(kCheckpointKeep, "GLIM_CHECKPOINT_KEEP", Scheduler, Always, Count, "python", "`checkpoint.keep`")
GLIM_TASK_VARIABLE(kResumeStep, "GLIM_RESUME_STEP", Scheduler, Always, Step, "python glim-task agent",
                   "the step of the durable save that this attempt goes on from; -1: it starts from the beginning")
GLIM_TASK_VARIABLE(kResumePath, "GLIM_RESUME_PATH", Either, Sometimes, Text, "python glim-task agent",
                   "that save as it was reported, mostly a path; empty or not set: it starts from the beginning")

// The node.
GLIM_TASK_VARIABLE(kWorkdir, "GLIM_WORKDIR", Agent, Always, Path, "",
                   "the folder that the task runs in; of a plain process with a snapshot, the copy of its code")
GLIM_TASK_VARIABLE(kGpusSimulated, "GLIM_GPUS_SIMULATED", Agent, Always, Flag, "",
                   "1: the node's GPUs are not real ones")
GLIM_TASK_VARIABLE(kCudaDeviceOrder, "CUDA_DEVICE_ORDER", Default, Sometimes, Text, "",
                   "`PCI_BUS_ID` for a job with GPUs: GPU 0 is the first by PCI address, beside which `LOCAL_RANK` 0 "
                   "runs")
GLIM_TASK_VARIABLE(kSdk, "GLIM_SDK", Agent, Sometimes, Path, "python glim-task",
                   "the folder of the node's SDK; not set: the node has none")

// What the attempt's tasks share, and nobody else has.
GLIM_TASK_VARIABLE(kAttemptSecretFile, "GLIM_ATTEMPT_SECRET_FILE", Agent, Sometimes, Path, "hfreduce",
                   "holds the attempt's secret (64 hexadecimal digits), by which its ranks know each other; not set: "
                   "the cluster is without identity, or the node without a tmpfs")

// What the job's spec asks for (`secrets`, `api`).
GLIM_TASK_VARIABLE(kSecrets, "GLIM_SECRETS", Agent, Sometimes, Path, "",
                   "a folder with a file for each of the job's `secrets`, by name; not set: it has none")
GLIM_TASK_VARIABLE(kApiTokenFile, "GLIM_API_TOKEN_FILE", Agent, Sometimes, Path, "",
                   "holds the token of a job with `api: true`; not set: it may not speak to the scheduler")
GLIM_TASK_VARIABLE(kTokenFile, "GLIM_TOKEN_FILE", Agent, Sometimes, Path, "",
                   "`GLIM_API_TOKEN_FILE`, where `glim` looks for it")
GLIM_TASK_VARIABLE(kServer, "GLIM_SERVER", Scheduler, Sometimes, Address, "",
                   "with `api: true`: where the scheduler is, for `glim`")
GLIM_TASK_VARIABLE(kCa, "GLIM_CA", Agent, Sometimes, Path, "",
                   "with `api: true`: whose signature the scheduler's certificate has, for `glim`")

// glim.hfreduce (protocols/task-socket.md).
GLIM_TASK_VARIABLE(kHfreducePort, "GLIM_HFREDUCE_PORT", Scheduler, Always, Port, "hfreduce",
                   "`MASTER_PORT` + 1: where the ranks of a communicator meet")
GLIM_TASK_VARIABLE(kHfreduceDevice, "GLIM_HFREDUCE_DEVICE", Agent, Sometimes, Text, "hfreduce",
                   "the network card as UCX names it (`mlx5_0:1`); not set: all")
GLIM_TASK_VARIABLE(kHfreduceServiceLevel, "GLIM_HFREDUCE_SERVICE_LEVEL", Agent, Sometimes, Count, "hfreduce",
                   "InfiniBand's service level of that traffic, 0 to 15; not set: the card's")

// Copies of saves in a neighbour's memory (protocols/replica.md).
GLIM_TASK_VARIABLE(kReplicaPeer, "GLIM_REPLICA_PEER", Scheduler, Sometimes, Peer, "python",
                   "the neighbour that takes the copies of this node's saves, and its key; not set: none does")
GLIM_TASK_VARIABLE(kReplicaSources, "GLIM_REPLICA_SOURCES", Scheduler, Sometimes, Peers, "python agent",
                   "where copies of the save that this attempt goes on from may be; not set: nowhere")
GLIM_TASK_VARIABLE(kReplicaTokenFile, "GLIM_REPLICA_TOKEN_FILE", Agent, Sometimes, Path, "python",
                   "holds the attempt's token for replicas; not set: there are none")
GLIM_TASK_VARIABLE(kReplicaTls, "GLIM_REPLICA_TLS", Agent, Sometimes, Text, "python",
                   "UCX's transports for replicas; not set: all")
GLIM_TASK_VARIABLE(kReplicaDevice, "GLIM_REPLICA_DEVICE", Agent, Sometimes, Text, "python",
                   "the network card for replicas; not set: all")
GLIM_TASK_VARIABLE(kReplicaServiceLevel, "GLIM_REPLICA_SERVICE_LEVEL", Agent, Sometimes, Count, "python",
                   "InfiniBand's service level of that traffic, 0 to 15; not set: the card's")

// What programs need beside.
GLIM_TASK_VARIABLE(kPath, "PATH", Default, Always, Text, "",
                   "`/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`, whatever the agent's own is, or "
                   "the job's; the SDK's `bin` is added at its end")
GLIM_TASK_VARIABLE(kPythonPath, "PYTHONPATH", Default, Sometimes, Text, "",
                   "the job's; the SDK's `python` is added at its end")
GLIM_TASK_VARIABLE(kPythonUnbuffered, "PYTHONUNBUFFERED", Default, Always, Text, "", "1, because a log is a pipe")
GLIM_TASK_VARIABLE(kHome, "HOME", Default, Always, Path, "", "the agent's; in containers `/tmp`")
GLIM_TASK_VARIABLE(kUser, "USER", Default, Sometimes, Text, "", "in a container whose job it is, else the agent's")
GLIM_TASK_VARIABLE(kLang, "LANG", Default, Sometimes, Text, "", "the agent's")
GLIM_TASK_VARIABLE(kLcAll, "LC_ALL", Default, Sometimes, Text, "", "the agent's")
GLIM_TASK_VARIABLE(kTimeZone, "TZ", Default, Sometimes, Text, "", "the agent's")
GLIM_TASK_VARIABLE(kGlooInterface, "GLOO_SOCKET_IFNAME", Default, Sometimes, Text, "",
                   "the interface that has the node's address; not set: it is a loopback or unknown address")
GLIM_TASK_VARIABLE(kNcclInterface, "NCCL_SOCKET_IFNAME", Default, Sometimes, Text, "", "`GLOO_SOCKET_IFNAME`")
