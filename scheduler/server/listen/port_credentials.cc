#include "scheduler/server/listen/port_credentials.h"

#include <arpa/inet.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <algorithm>
#include <utility>

#include "sdk/pki/certificate.h"

namespace glim::server {
namespace {

// gRPC's C++ offers nothing that shows another certificate later, its C does: a function that is called at each
// handshake. (FileWatcherCertificateProvider of gRPC 1.51 sees new authorities, and not a new certificate.)
class AskedCredentials final : public grpc::ServerCredentials {
 public:
  AskedCredentials(const PortCredentials* owner, grpc_ssl_client_certificate_request_type request, BegunCalls* calls)
      : owner_(owner) {
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(request, Fetch, this));
    grpc_server_credentials_set_auth_metadata_processor(credentials_, calls->Processor());
  }
  ~AskedCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  // gRPC calls it under the port's own lock.
  static grpc_ssl_certificate_config_reload_status Fetch(void* self, grpc_ssl_server_certificate_config** config) {
    auto* const asked = static_cast<AskedCredentials*>(self);
    const std::shared_ptr<const PortCredentials::Shown> shown = asked->owner_->shown();
    if (shown == asked->given_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair = {shown->key.c_str(), shown->chain.c_str()};
    // Whom to trust gRPC wants to hear also where no certificate is asked for.
    *config = grpc_ssl_server_certificate_config_create(shown->trusted.c_str(), &pair, 1);
    asked->given_ = shown;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const PortCredentials* const owner_;
  grpc_server_credentials* credentials_ = nullptr;
  std::shared_ptr<const PortCredentials::Shown> given_;
};

bool IsAddress(const std::string& host) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

void Add(std::vector<std::string>* to, const std::string& name) {
  if (std::find(to->begin(), to->end(), name) == to->end()) to->push_back(name);
}

// "[::1]:7601" -> "::1"; empty for a Unix socket and for what means every address.
std::string HostOf(const std::string& listen) {
  if (listen.starts_with("unix:")) return "";
  std::string host = listen.substr(0, listen.rfind(':'));
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return host == "0.0.0.0" || host == "::" || host == "*" ? "" : host;
}

}  // namespace

pki::ServerNames NamesOf(const std::vector<std::string>& listens, const std::vector<std::string>& names) {
  pki::ServerNames out{{"localhost"}, {"127.0.0.1", "::1"}};
  std::vector<std::string> hosts = names;
  for (const std::string& listen : listens) hosts.push_back(HostOf(listen));
  for (const std::string& host : hosts) {
    if (!host.empty()) Add(IsAddress(host) ? &out.addresses : &out.dns, host);
  }
  return out;
}

Result<std::unique_ptr<PortCredentials>> PortCredentials::Make(const AuthorityKeeper* keeper, pki::ServerNames names,
                                                               TimePoint now) {
  std::unique_ptr<PortCredentials> made(new PortCredentials(keeper, std::move(names)));
  if (Status status = made->Change(now); !status.ok()) return status;
  return made;
}

Status PortCredentials::Change(TimePoint now) {
  const std::lock_guard one_at_a_time(changing_);
  const auto certificate = keeper_->SignScheduler(key_, names_, now);
  if (!certificate.ok()) return certificate.status();
  const auto authority = keeper_->authority();
  auto shown = std::make_shared<const Shown>(
      Shown{key_.Pem(), pki::PemOf(authority->ChainOf(*certificate)), pki::PemOf(authority->Trust())});
  const std::lock_guard lock(mutex_);
  shown_ = std::move(shown);
  renew_at_ = pki::RenewAt(*certificate);
  return Status::Ok();
}

Status PortCredentials::Renew(TimePoint now) {
  {
    const std::lock_guard lock(mutex_);
    if (now < renew_at_) return Status::Ok();
  }
  return Change(now);
}

std::shared_ptr<const PortCredentials::Shown> PortCredentials::shown() const {
  const std::lock_guard lock(mutex_);
  return shown_;
}

std::shared_ptr<grpc::ServerCredentials> PortCredentials::ForUsers(BegunCalls* calls) {
  return kept_.emplace_back(std::make_shared<AskedCredentials>(this, GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE, calls));
}

std::shared_ptr<grpc::ServerCredentials> PortCredentials::ForAgents(BegunCalls* calls) {
  return kept_.emplace_back(
      std::make_shared<AskedCredentials>(this, GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, calls));
}

}  // namespace glim::server
