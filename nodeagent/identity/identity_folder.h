// Who this node is, as one file: STATE_DIR/identity/node.pem (0600, in a folder 0700) has where the agents' port was
// when the node was enrolled, its key, its certificate, and the authorities to trust. Written by `glim-agent enrol` and
// at renewals, each time as a whole: whenever a writer stops, the file is what it was before or what it is to be.
//
// Any thread; writers of this machine exclude each other (IdentityDraft). The key never leaves the machine, and is in
// no message.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nodeagent/os/process_lock.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/io/spare_file.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/private_key.h"

namespace glim::nodeagent {

struct NodeCredentials {
  pki::PrivateKey key;
  pki::Certificate certificate;
  std::vector<pki::Certificate> authorities;  // whom to trust; the last one signs nodes
};

// An identity that is about to be written: it has its room on the disk already, and nobody else writes one meanwhile.
// The room is given back with the object. For one thread.
class IdentityDraft {
 public:
  IdentityDraft(IdentityDraft&& other) noexcept = default;
  IdentityDraft& operator=(IdentityDraft&& other) = delete;
  ~IdentityDraft();

  // Takes the place of what was there; once. `scheduler`: HOST:PORT, may be empty. Errors of the file; what was there
  // is as it was then. INVALID_ARGUMENT: `scheduler` cannot stand in the file.
  Status Become(const NodeCredentials& credentials, const std::string& scheduler);

 private:
  friend class IdentityFolder;
  IdentityDraft(ProcessLock lock, std::unique_ptr<SpareFile> spare, std::string path)
      : lock_(std::move(lock)), spare_(std::move(spare)), path_(std::move(path)) {}

  ProcessLock lock_;
  std::unique_ptr<SpareFile> spare_;
  std::string path_;
};

class IdentityFolder {
 public:
  explicit IdentityFolder(const std::string& state_dir) : path_(state_dir + "/identity") {}

  // FAILED_PRECONDITION: NOT_ENROLLED; BAD_IDENTITY (the file is torn, or what is in it does not belong together), with
  // what to do. PERMISSION_DENIED: others may look into file or folder. Whether the certificate is still good is not
  // asked: the scheduler says so.
  Result<NodeCredentials> Read() const;
  // Makes the folder. ABORTED (IDENTITY_BUSY): another process is writing one just now. Else errors of the files,
  // before anything has changed.
  Result<IdentityDraft> Begin() const;
  // HOST:PORT; empty: not known.
  std::string Scheduler() const;
  // Another number when somebody has written it anew; 0: there is none.
  std::uint64_t Version() const;

 private:
  const std::string path_;
};

// The wall clock, by which certificates are good.
TimePoint WallTime();

}  // namespace glim::nodeagent
