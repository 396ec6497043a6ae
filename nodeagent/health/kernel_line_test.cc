// Lines of the kernel's log, and what they say of the hardware. Records of /dev/kmsg.
#include "nodeagent/health/kernel_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::nodeagent::health {
namespace {

struct LineCase {
  const char* line;
  const char* check;  // null: it says nothing
  const char* device = "";
  std::int64_t code = 0;
  std::int32_t pid = 0;
};

constexpr LineCase kLineCases[] = {
    // Xid: with and without a process, and with the forms of the address.
    {"NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.", "xid", "0000:3b:00.0", 79, 4711},
    {"NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", "xid", "0000:3b:00.0", 79},
    {"NVRM: Xid (PCI:0000:5E:00): 31, pid=20011, name=python3, Ch 00000008, intr 10000000. MMU Fault", "xid",
     "0000:5e:00.0", 31, 20011},
    {"NVRM: Xid (PCI:0000:5e:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked", "xid",
     "0000:5e:00.0", 63},
    {"NVRM: Xid (PCI:0000:5e:00): 13, pid='77', name=a, Graphics Exception", "xid", "0000:5e:00.0", 13, 77},
    {"NVRM: Xid (PCI:00000000:af:00): 48, pid=9, Double Bit ECC Error", "xid", "0000:af:00.0", 48, 9},
    {"NVRM: Xid (PCI:00000001:00:00): 74, NVLink: fatal error detected", "xid", "0001:00:00.0", 74},
    {"NVRM: Xid (0000:af:00): 62, 0a82(2d50) 8500 0000", "xid", "0000:af:00.0", 62},
    {"NVRM: Xid (PCI:0000:af:00.0): 119", "xid", "0000:af:00.0", 119},
    // No Xid: another message, no address, no number, a number that is none, a word in the middle.
    {"NVRM: GPU at PCI:0000:3b:00: GPU-11111111-2222-3333-4444-555555555555", nullptr},
    {"NVRM: Xid (PCI:0000:3b): 79, x", nullptr},
    {"NVRM: Xid (PCI:0000:3b:00): GPU has fallen off the bus", nullptr},
    {"NVRM: Xid (PCI:0000:3b:00): 0, x", nullptr},
    {"NVRM: Xid (PCI:0000:3b:00): 79x", nullptr},
    {"NVRM: Xid (PCI:0000:3b:00): 99999999999999999999999", nullptr},
    {"nvidia: NVRM: Xid (PCI:0000:3b:00): 79, x", nullptr},
    // SXid of an NVSwitch: fatal or not; older drivers write no colon. Its raw numbers are no errors of their own.
    {"nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44 sourcetrack timeout error (First)", "sxid_fatal",
     "0000:c1:00.0", 24007},
    {"nvidia-nvswitch3: SXid (PCI:0000:C1:00.0): 22013, Non-fatal, Link 27 Minion Link DLREQ interrupt", "sxid",
     "0000:c1:00.0", 22013},
    {"nvidia-nvswitch1 SXid (PCI:0000:06:00.0): 20009, Non-fatal, Link 04 RX Short Error Rate", "sxid", "0000:06:00.0",
     20009},
    {"nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 11001, Fatal, ingress invalid command", "sxid_fatal", "0000:00:00.0",
     11001},
    {"nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Severity 1 Engine instance 44 Sub-engine instance 00", nullptr},
    {"nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Data {0x50610002, 0x10000030, 0x00000000}", nullptr},
    {"nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): garbled, Fatal", nullptr},
    {"nvidia-nvswitch0: SXid (PCI:0000:c1): 24007, Fatal, Link 44 x", nullptr},
    {"nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 999999999, Fatal, Link 44 x", nullptr},
    {"nvidia-nvswitch: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44 x", nullptr},
    {"nvidia-nvswitch0: using MSI", nullptr},
    {"nvidia-nvswitch[4711]: segfault at 0 ip 0000 sp 0000 error 4 in a[5555+1000]", nullptr},
    // A program's name of fifteen characters, with which the kernel begins a line.
    {"NVRM: Xid (PCI:[4711]: segfault at 0 ip 0000 sp 0000 error 4 in a[5555+1000]", nullptr},
    {"EDAC MC0: 1 UE [4711]: segfault at 0 ip 00 sp 00 error 4 in x on DIMM_A1 (y[55+10]", nullptr},
    {"I/O error, dev [4711]: segfault at 0 ip 00 sp 00 error 4 in sda[55+10]", nullptr},
    // Memory.
    {"EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x12 offset:0x0)",
     "memory_ecc_corrected", "CPU_SrcID#0_MC#0_Chan#1_DIMM#0"},
    {"EDAC MC1: 2 UE memory scrubbing error on DIMM_B2 (channel:0 slot:1)", "memory_ecc_uncorrected", "DIMM_B2"},
    {"EDAC MC1: 1 UE overlapping error on  (channel:0)", "memory_ecc_uncorrected", "mc1"},
    {"EDAC MC0: Giving out device to module skx_edac", nullptr},
    // Machine checks that the hardware could not mend; the others are counted by EDAC.
    {"mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 4: be00000000800400", "machine_check", "cpu3", 4},
    {"mce: [Hardware Error]: CPU 17: Machine Check: 0 Bank 7: bc00000000010090", "machine_check", "cpu17", 7},
    {"mce: [Hardware Error]: CPU 17: Machine Check: 0 Bank 7: 8c00004000010090", nullptr},
    {"mce: [Hardware Error]: Machine check events logged", nullptr},
    {"mce: CPU supports 22 MCE banks", nullptr},
    // Disks and file systems.
    {"blk_update_request: I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
     "disk_error", "sda"},
    {"I/O error, dev nvme0n1, sector 0 op 0x1:(WRITE) flags 0x800", "disk_error", "nvme0n1"},
    {"blk_update_request: critical medium error, dev sdb, sector 99", "disk_error", "sdb"},
    {"Buffer I/O error on dev sda1, logical block 12, lost async page write", "disk_error", "sda1"},
    {"blk_update_request: I/O error, dev loop3, sector 0", nullptr},
    {"blk_update_request: I/O error, dev sr0, sector 0", nullptr},
    {"I/O error, dev , sector 0", nullptr},
    {"EXT4-fs error (device nvme0n1p2): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0",
     "disk_error", "nvme0n1p2"},
    {"EXT4-fs (sda2): Remounting filesystem read-only", "disk_error", "sda2"},
    {"EXT4-fs (sda2): mounted filesystem with ordered data mode", nullptr},
    {"XFS (dm-0): metadata I/O error in \"xfs_trans_read_buf_map\" at daddr 0x2 len 1 error 5", "disk_error", "dm-0"},
    {"XFS (dm-0): Mounting V5 Filesystem", nullptr},
    {"nvme nvme0: I/O 26 QID 4 timeout, reset controller", "disk_error", "nvme0"},
    {"nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff", "disk_error", "nvme1"},
    {"nvme nvme1: 32/0/0 default/read/poll queues", nullptr},
    {"", nullptr},
};

TEST(KernelLine, SaysWhatIsWrong) {
  for (const LineCase& c : kLineCases) {
    const std::optional<Finding> finding = ReadKernelLine(c.line);
    ASSERT_EQ(finding.has_value(), c.check != nullptr) << c.line;
    if (!finding) continue;
    EXPECT_EQ(finding->check, c.check) << c.line;
    EXPECT_EQ(finding->device, c.device) << c.line;
    EXPECT_EQ(finding->code, c.code) << c.line;
    EXPECT_EQ(finding->pid, c.pid) << c.line;
    EXPECT_EQ(finding->text, c.line);
  }
}

TEST(KernelLine, ItsTextIsPrintableAndShort) {
  const auto finding = ReadKernelLine("NVRM: Xid (PCI:0000:3b:00): 79, \x1b[2J\n" + std::string(2000, 'x'));
  ASSERT_TRUE(finding);
  EXPECT_LE(finding->text.size(), kTextBytesMax);
  EXPECT_THAT(finding->text, testing::HasSubstr("\\x1b[2J\\n"));
}

TEST(KernelRecord, HasAFacilityANumberATimeAndAText) {
  const auto record = ParseKernelRecord("3,1234,5678901,-;NVRM: a; b\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->facility, 0);
  EXPECT_EQ(record->seq, 1234u);
  EXPECT_EQ(record->usec, 5678901);
  EXPECT_EQ(record->text, "NVRM: a; b");
  EXPECT_EQ(ParseKernelRecord("14,7,1,-,caller=T1;from a program")->facility, 1);
  for (const char* none :
       {"", "x", "3", "3,1,2", "3,1,2,-", ",1,2,-;x", " KEY=value", "3,-1,2,-;x", "3,99999999999999999999,2,-;x"}) {
    EXPECT_FALSE(ParseKernelRecord(none)) << none;
  }
}

}  // namespace
}  // namespace glim::nodeagent::health
