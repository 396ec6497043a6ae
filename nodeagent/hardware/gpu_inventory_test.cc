// The GPUs of a node, as the real glim-inventory sees them through a library that does what the test says.
#include "nodeagent/hardware/gpu_inventory.h"

#include <gmock/gmock.h>

#include <functional>

#include "nodeagent/hardware/find_hardware.h"
#include "nodeagent/hardware/testing/fake_nvml.h"
#include "nodeagent/hardware/testing/fake_sys.h"
#include "sdk/base/testing/folders.h"
#include "sdk/base/testing/waits.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

Inventory Found(std::uint32_t seen, const std::vector<std::string>& bus = {}) {
  Inventory found;
  found.gpus.asked = true;
  for (std::uint32_t i = 0; i < seen; ++i) {
    found.gpus.gpus.push_back(
        {i, "GPU-" + std::to_string(i), "NVIDIA A100", 80, "0000:1" + std::to_string(i) + ":00.0", -1, {}});
  }
  found.node.bus_gpus = bus;
  return found;
}

TEST(ChooseGpus, TakesWhatIsThereOrAsManyAsWereSaid) {
  EXPECT_EQ(ChooseGpus(std::nullopt, false, Found(2)).value(), 2u);
  EXPECT_EQ(ChooseGpus(1, false, Found(2)).value(), 1u) << "fewer than there are";
  EXPECT_EQ(ChooseGpus(0, false, Found(2)).value(), 0u);
  EXPECT_EQ(ChooseGpus(8, true, Inventory()).value(), 8u) << "simulated: nobody looks";
  EXPECT_EQ(ChooseGpus(std::nullopt, true, Found(2)).value(), 0u);
}

TEST(ChooseGpus, BelievesADriverThatHasNotAnswered) {
  Inventory found = Found(0, {"0000:10:00.0", "0000:11:00.0"});
  found.gpus.asked = false;
  EXPECT_EQ(ChooseGpus(std::nullopt, false, found).value(), 2u) << "what is on the bus";
  EXPECT_EQ(ChooseGpus(4, false, found).value(), 4u);
}

TEST(ChooseGpus, RefusesMoreThanThereAreAndSaysWhatIsThere) {
  const Status few = ChooseGpus(3, false, Found(1, {"0000:10:00.0", "0000:3b:00.0"})).status();
  EXPECT_EQ(
      few.message(),
      "--gpus 3: NVIDIA's driver sees 1 (0 NVIDIA A100 at 0000:10:00.0); on the bus is another, which it does not "
      "see: 0000:3b:00.0 (dmesg may say why)");
  EXPECT_EQ(few.fix(), "say --gpus 1, or leave it out");
  EXPECT_EQ(few.field(), "--gpus");
}

TEST(ChooseGpus, WithoutADriverGpusThatWereSaidOrSeenAreRefused) {
  Inventory none = Found(0);
  none.gpus.error = "the library cannot be loaded";
  none.gpus.fix = "install the driver";
  EXPECT_EQ(ChooseGpus(std::nullopt, false, none).value(), 0u) << "a node without GPUs has no driver";
  const Status said = ChooseGpus(8, false, none).status();
  EXPECT_EQ(said.message(), "--gpus 8: no NVIDIA GPU is in this machine, and the library cannot be loaded");
  EXPECT_THAT(said.fix(), HasSubstr("--simulated-gpus"));
  none.node.bus_gpus = {"0000:10:00.0"};
  const Status seen = ChooseGpus(std::nullopt, false, none).status();
  EXPECT_EQ(seen.message(), "an NVIDIA GPU is in this machine, and the library cannot be loaded");
  EXPECT_EQ(seen.fix(), "install the driver; or say --gpus 0, and this node runs jobs without GPUs");
}

TEST(ChooseGpus, MigIsRefusedWithItsFix) {
  Inventory found = Found(2);
  found.gpus.error = "MIG is on at GPU 1";
  found.gpus.fix = "switch it off";
  EXPECT_THAT(ChooseGpus(std::nullopt, false, found).status().message(), HasSubstr("MIG is on at GPU 1"));
}

class HardwareTest : public testing::Test {
 protected:
  HardwareLook Look() const {
    HardwareLook look;
    look.program = BuiltFile("bin/glim-inventory");
    look.root = folder_.path() + "/root";
    look.library = nvml_.path();
    return look;
  }
  nlohmann::json& gpu() { return nvml_.node["gpus"][0]; }

  TempFolder folder_;
  FakeSys sys_{folder_.path() + "/root"};
  FakeNvml nvml_{BuiltFile("test/libfake-nvml.so"), folder_.path(), FakeNode(2)};
};

TEST_F(HardwareTest, ALookFindsGpusAndTheRest) {
  sys_.Gpu("0000:10:00.0", 1).Port("mlx5_0", "0000:5e:00.0", "InfiniBand");
  const Inventory found = FindHardware(Look());
  ASSERT_TRUE(found.gpus.asked);
  ASSERT_EQ(found.gpus.gpus.size(), 2u) << found.gpus.error;
  EXPECT_EQ(found.gpus.gpus[0].numa_node, 1);
  ASSERT_EQ(found.node.nics.size(), 1u);
  EXPECT_EQ(found.node.nics[0].name, "mlx5_0");
}

TEST_F(HardwareTest, ADriverThatHangsHidesNothingElse) {
  sys_.Gpu("0000:10:00.0", 1);
  nvml_.node["hang"] = {"nvmlInitWithFlags"};
  nvml_.Tell();
  HardwareLook look = Look();
  look.limit = milliseconds(300);
  const Inventory found = FindHardware(look);
  EXPECT_FALSE(found.gpus.asked);
  EXPECT_EQ(found.node.bus_gpus.size(), 1u);
}

TEST_F(HardwareTest, WhereNobodyAsksTheDriverItIsNotLoaded) {
  HardwareLook look = Look();
  look.library = folder_.path() + "/none.so";
  look.gpus = false;
  EXPECT_EQ(FindHardware(look).gpus.error, "");
  look.gpus = true;
  EXPECT_THAT(FindHardware(look).gpus.error, HasSubstr("none.so"));
  look.program = folder_.path() + "/none";
  EXPECT_THAT(FindHardware(look).gpus.error, HasSubstr("could not be looked at"));
}

class AskedGpusTest : public HardwareTest {
 protected:
  void Make(milliseconds limit = LongWait(), bool hangs = false) {
    GpuAsking asking;
    asking.command = Look().WatchCommand(2);
    asking.limit = limit;
    asking.again = milliseconds(10);
    asking.hangs = hangs;
    asking.changed = [this] { ++changes_; };
    gpus_ = MakeAskedGpus(io_, 2, std::move(asking));
  }
  ~AskedGpusTest() override {
    if (gpus_) gpus_->Stop();
    io_.restart();
    io_.run_for(std::chrono::seconds(1));
  }
  // Runs the loop until `check` holds.
  bool Until(const std::function<bool()>& check) {
    const auto end = std::chrono::steady_clock::now() + LongWait();
    while (!check()) {
      if (std::chrono::steady_clock::now() > end) return false;
      io_.restart();
      io_.run_one_for(milliseconds(50));
    }
    return true;
  }
  GpuLeft Left(const std::string& before) {
    const std::uint64_t question = gpus_->Ask();
    GpuAnswer answer;
    EXPECT_TRUE(Until([&] { return (answer = gpus_->Left(question, before)).has_value(); }));
    return answer.value_or(GpuLeft());
  }
  // A task that begins once it is known what is on the GPUs before it.
  std::string Begin() {
    EXPECT_TRUE(Until([&] { return gpus_->Left(1, "").has_value() && gpus_->Fault().empty(); }));
    return gpus_->TaskBegins("7.1.0");
  }

  boost::asio::io_context io_;
  std::unique_ptr<GpuInventory> gpus_;
  int changes_ = 0;
};

TEST_F(AskedGpusTest, AreEmptyWhenTheyAreAsBeforeTheTask) {
  Make();
  EXPECT_EQ(gpus_->count(), 2u);
  EXPECT_FALSE(gpus_->simulated());
  const std::string before = Begin();
  EXPECT_TRUE(Left(before).empty());
  gpu()["used_mib"] = 3000;
  gpu()["processes"] = {{{"pid", 4711}, {"mib", 2500}}};
  nvml_.Tell();
  EXPECT_THAT(Left(before).evidence, HasSubstr("GPU 0 (GPU-0000-0): 3000 MiB used, 500 MiB before the task, processes "
                                               "4711 (2500 MiB)"));
  gpu() = FakeGpu(0);
  nvml_.Tell();
  EXPECT_TRUE(Left(before).empty());
  EXPECT_EQ(gpus_->Fault(), "");
}

TEST_F(AskedGpusTest, ATaskIsNotMeasuredByWhatAnotherHasOnThem) {
  Make();
  const std::string before = Begin();
  EXPECT_EQ(gpus_->TaskBegins("8.1.0"), "") << "one is there: what is on them is not what was before";
  gpus_->TaskEnded("7.1.0");
  gpus_->TaskEnded("8.1.0");
  EXPECT_NE(Begin(), "");
}

TEST_F(AskedGpusTest, ADriverThatHangsIsAFaultUntilItAnswers) {
  const milliseconds limit = Slower(milliseconds(1000));
  Make(limit);
  const std::string before = Begin();
  nvml_.node["hang"] = {"nvmlDeviceGetMemoryInfo_v2"};
  nvml_.Tell();
  EXPECT_THAT(Left(before).evidence,
              HasSubstr("is not known: NVIDIA's driver has not answered for " + std::to_string(limit.count()) + " ms"));
  EXPECT_THAT(gpus_->Fault(), HasSubstr("no job starts here"));
  EXPECT_GT(changes_, 0);
  nvml_.node["hang"] = nlohmann::json::array();
  nvml_.Tell();
  EXPECT_TRUE(Until([&] { return gpus_->Fault().empty() && Left(before).empty(); }))
      << "another child asks the same question";
}

TEST_F(AskedGpusTest, ADriverThatHungAtTheStartIsAFaultFromTheBeginning) {
  Make(LongWait(), /*hangs=*/true);
  EXPECT_NE(gpus_->Fault(), "");
  EXPECT_TRUE(Until([&] { return gpus_->Fault().empty(); }));
}

TEST_F(AskedGpusTest, ALostGpuIsNotEmpty) {
  Make();
  const std::string before = Begin();
  nvml_.node["gpus"][1]["lost"] = true;
  nvml_.Tell();
  EXPECT_THAT(Left(before).evidence, HasSubstr("GPU 1 does not say who uses it: GPU is lost"));
}

TEST(UnaskedGpus, AreAlwaysEmpty) {
  const auto gpus = MakeUnaskedGpus(8, true);
  EXPECT_TRUE(gpus->simulated());
  EXPECT_EQ(gpus->TaskBegins("7.1.0"), "");
  ASSERT_TRUE(gpus->Left(gpus->Ask(), ""));
  EXPECT_TRUE(gpus->Left(gpus->Ask(), "")->empty());
  EXPECT_FALSE(MakeUnaskedGpus(0, true)->simulated()) << "of none nothing is simulated";
}

}  // namespace
}  // namespace glim::nodeagent
