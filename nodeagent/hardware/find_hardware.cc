#include "nodeagent/hardware/find_hardware.h"

#include <boost/asio/io_context.hpp>

#include "nodeagent/os/child_work.h"

namespace glim::nodeagent {

std::vector<std::string> HardwareLook::Command() const {
  std::vector<std::string> command = {program, "--output", "4"};
  if (!root.empty()) command.insert(command.end(), {"--sys-root", root});
  if (!gpus) command.push_back("--no-gpus");
  if (gpus && !library.empty()) command.insert(command.end(), {"--nvml", library});
  return command;
}

std::vector<std::string> HardwareLook::WatchCommand(std::uint32_t count) const {
  std::vector<std::string> command = Command();
  command.insert(command.end(), {"--watch", std::to_string(count)});
  return command;
}

Inventory InventoryOf(const std::string& output, bool in_time) {
  Result<Inventory> found = ParseInventory(output);
  Inventory inventory = found.ok() ? std::move(found).value() : Inventory();
  if (!found.ok() && in_time) {  // it said nothing, and is over: the driver is not to blame, nor to be hoped for
    inventory.gpus.asked = true;
    inventory.gpus.error = "the node's hardware could not be looked at: " + found.status().message();
    inventory.gpus.fix = "look whether glim-inventory lies beside glim-agent, and what it says";
  } else if (!inventory.gpus.asked && in_time) {
    inventory.gpus.asked = true;
    inventory.gpus.error = "the look at NVIDIA's driver ended without an answer";
    inventory.gpus.fix = "look at what nvidia-smi says";
  }
  return inventory;
}

Inventory FindHardware(const HardwareLook& look) {
  boost::asio::io_context io;
  ChildWork work(io);
  Inventory found;
  const auto started = work.Start(look.Command(), "", look.limit, [&](const ChildWork::Outcome& outcome) {
    found = InventoryOf(outcome.output, outcome.in_time);
    io.stop();
  });
  if (!started.ok()) return InventoryOf("", true);
  io.run();
  return found;
}

}  // namespace glim::nodeagent
