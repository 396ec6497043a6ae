#include "scheduler/server/oidc_file.h"

#include <string>

#include "sdk/https/safe_url.h"

namespace glim::server {

yaml::Field ReadOidcInto(oidc::Issuer* issuer) {
  return [issuer](const yaml::Node& value, const std::string& path) {
    oidc::Issuer read;
    const yaml::Fields fields = {{"issuer", yaml::IntoText(&read.issuer)},
                                 {"client_id", yaml::IntoText(&read.client_id)},
                                 {"user_claim", yaml::IntoText(&read.user_claim)},
                                 {"audience", yaml::IntoText(&read.audience)}};
    if (Status s = yaml::ReadMap(value, path, fields); !s.ok()) return s;
    if (!https::IsSafeUrl(read.issuer)) {
      return yaml::RefuseAt(value, path + ".issuer", "must be https, or http of this machine",
                            "write it as the issuer does, like https://login.example/realms/lab");
    }
    if (read.client_id.empty()) {
      return yaml::RefuseAt(value, path + ".client_id", "is missing", "register Glim there as a public client");
    }
    if (read.user_claim.empty()) {
      return yaml::RefuseAt(value, path + ".user_claim", "is empty", "leave it out: preferred_username");
    }
    *issuer = std::move(read);
    return Status::Ok();
  };
}

}  // namespace glim::server
