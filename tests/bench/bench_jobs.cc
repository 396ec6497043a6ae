#include "tests/bench/bench_jobs.h"

#include <string>

namespace glim::bench {

v1::JobSpec MakeSpec(std::uint32_t nodes, std::uint32_t gpus_per_node) {
  v1::JobSpec spec;
  spec.set_name("bench");
  spec.set_pool("default");
  spec.set_priority("normal");
  spec.set_nodes(nodes);
  spec.set_gpus_per_node(gpus_per_node);
  spec.set_image("host");
  spec.set_workdir("/tmp");
  spec.set_run("true");
  spec.mutable_placement()->set_leaf("pack");
  spec.mutable_placement()->set_cross_zone("auto");
  spec.mutable_interrupt()->set_mode("cooperative");
  spec.mutable_interrupt()->set_grace_ms(60'000);
  spec.mutable_interrupt()->set_max_grace_ms(300'000);
  spec.mutable_interrupt()->set_signal("TERM");
  spec.mutable_checkpoint()->set_keep(3);
  spec.mutable_restart()->add_on("node_failure");
  spec.mutable_restart()->set_max(20);
  return spec;
}

void AskAs(int user, grpc::ClientContext* context) {
  context->AddMetadata("glim-user", "bench" + std::to_string(user));
  context->set_deadline(std::chrono::system_clock::now() + kPatience);
}

std::int64_t NowMs() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
}

}  // namespace glim::bench
