// What a scheduler's answer says who this node is, checked before it is taken. Stateless; any thread.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <string>
#include <vector>

#include "nodeagent/identity/identity_folder.h"

namespace glim::nodeagent {

using CertificatesDer = google::protobuf::RepeatedPtrField<std::string>;

// Certificates as messages carry them (DER). INVALID_ARGUMENT: one is none; or there are none.
Result<std::vector<pki::Certificate>> ReadAuthorities(const CertificatesDer& der);

// UNAUTHENTICATED: the certificate is for another node, cluster or key, or of none of `authorities`. INVALID_ARGUMENT:
// bytes that are no certificate. Whether it is in force by the clock of this machine is not asked: that may be days off
// where the scheduler's is right, and the scheduler is who looks. It is logged.
Result<NodeCredentials> CheckReceived(const std::string& certificate, const CertificatesDer& authorities,
                                      const std::string& cluster, const std::string& node, const pki::PrivateKey& key,
                                      TimePoint now);

}  // namespace glim::nodeagent
