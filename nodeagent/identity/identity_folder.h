// Who this node is, as files: STATE_DIR/identity (0700) with key.pem, certificate.pem and authorities.pem (0600), and
// `scheduler`, where the agents' port was when the node was enrolled. Written by `glim-agent enrol`, and at renewals.
//
// Stateless functions, any thread, one writer at a time. The key never leaves the machine, and is in no message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/private_key.h"

namespace glim::nodeagent {

struct NodeCredentials {
  pki::PrivateKey key;
  pki::Certificate certificate;
  std::vector<pki::Certificate> authorities;  // whom to trust; the last one signs nodes
};

class IdentityFolder {
 public:
  explicit IdentityFolder(const std::string& state_dir) : path_(state_dir + "/identity") {}

  // FAILED_PRECONDITION: NOT_ENROLLED; BAD_IDENTITY (a file is torn, or they do not belong together), with what to do.
  // Whether the certificate is still good is not asked: the scheduler says so.
  Result<NodeCredentials> Read() const;
  // Of `enrol`: all of it, the certificate last.
  Status WriteAll(const NodeCredentials& credentials, const std::string& scheduler) const;
  // Of a renewal: the key stays.
  Status WriteRenewed(const NodeCredentials& credentials) const;
  // HOST:PORT; empty: not known.
  std::string Scheduler() const;
  // Another number when somebody has written the certificate anew; 0: there is none.
  std::uint64_t Version() const;

 private:
  const std::string path_;
};

// The wall clock, by which certificates are good.
TimePoint WallTime();

}  // namespace glim::nodeagent
