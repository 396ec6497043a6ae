#include "tests/bench/agent_hello.h"

namespace glim::bench {

v1::Hello MakeHello(const std::string& cluster_id, const std::string& node_name, std::uint32_t number) {
  const std::string zone = number % 2 ? "A" : "B";
  v1::Hello hello;
  hello.set_protocol_version(1);
  hello.set_cluster_id(cluster_id);
  hello.set_node_name(node_name);
  hello.set_machine_id("machine-of-" + node_name);
  hello.set_boot_id("boot-1");
  hello.mutable_labels()->set_pool("default");
  hello.mutable_labels()->set_zone(zone);
  hello.mutable_labels()->set_leaf(zone + std::to_string(number / 2 % 16));
  hello.mutable_labels()->set_gpu_type("A100");
  hello.mutable_labels()->set_gpu_count(8);
  hello.mutable_labels()->set_nvlink("none");
  hello.mutable_labels()->set_nic("infiniband");
  hello.mutable_labels()->set_simulated_gpus(true);
  hello.set_address("127.0.0.1");
  hello.set_agent_version("0.1.0");
  hello.set_runtime("process");
  return hello;
}

}  // namespace glim::bench
