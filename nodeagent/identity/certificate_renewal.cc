#include "nodeagent/identity/certificate_renewal.h"

#include <algorithm>
#include <utility>

#include "sdk/log/log.h"
#include "sdk/log/quoted.h"
#include "sdk/pki/certificate_request.h"
#include "sdk/pki/verify.h"

namespace glim::nodeagent {
namespace {

constexpr std::chrono::seconds kAnswerLimit{30};

// Whether the authority that signs nodes now has signed this one.
bool IsOfLast(const pki::Certificate& certificate, const std::vector<pki::Certificate>& authorities) {
  return certificate.issuer_key_id() == authorities.back().key_id();
}

}  // namespace

Result<std::vector<pki::Certificate>> ReadAuthorities(const google::protobuf::RepeatedPtrField<std::string>& der) {
  std::vector<pki::Certificate> authorities;
  for (const std::string& one : der) {
    auto authority = pki::Certificate::FromDer(one);
    if (!authority.ok()) return authority.status();
    authorities.push_back(std::move(authority).value());
  }
  if (authorities.empty() || authorities.size() > pki::kCertificatesMax) {
    return InvalidArgument("authorities", "the scheduler names no authorities, or too many");
  }
  return authorities;
}

CertificateRenewal::CertificateRenewal(boost::asio::io_context& io, IdentityFolder folder, NodeCredentials credentials,
                                       Times times, Hooks hooks)
    : io_(io),
      folder_(std::move(folder)),
      times_(times),
      hooks_(std::move(hooks)),
      credentials_(std::move(credentials)),
      version_(folder_.Version()),
      came_at_(hooks_.clock()),
      timer_(io) {}

void CertificateRenewal::Start() { Look(); }

void CertificateRenewal::Stop() {
  stopped_ = true;
  timer_.cancel();
  if (call_) call_->Cancel();
}

void CertificateRenewal::Look() {
  if (stopped_) return;
  if (const std::uint64_t version = folder_.Version(); version != version_) {
    version_ = version;
    auto read = folder_.Read();
    if (read.ok()) {
      LogInfo("event=enrolled_anew serial={}", read->certificate.serial());
      Count(std::move(read).value());
    } else {
      LogWarning("event=identity_not_read error={}", Quoted(read.status().message()));
    }
  }
  if (!call_ && hooks_.clock() >= not_before_ && IsDue()) Renew();
  timer_.expires_after(times_.look);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Look();
  });
}

bool CertificateRenewal::IsDue() const {
  const TimePoint now = hooks_.clock();
  return now >= pki::RenewAt(credentials_.certificate) || now >= came_at_ + times_.at_most ||
         !IsOfLast(credentials_.certificate, credentials_.authorities);
}

void CertificateRenewal::OnAuthorities(const google::protobuf::RepeatedPtrField<std::string>& authorities) {
  if (authorities.empty() || stopped_) return;
  auto read = ReadAuthorities(authorities);
  if (!read.ok()) return LogWarning("event=authorities_not_read error={}", Quoted(read.status().message()));
  if (*read != credentials_.authorities) {
    NodeCredentials next = credentials_;
    next.authorities = std::move(read).value();
    if (Status status = folder_.WriteRenewed(next); !status.ok()) return Failed(status.message());
    version_ = folder_.Version();
    LogInfo("event=authorities_changed authorities={}", next.authorities.size());
    // Who is connected stays so: the scheduler has just shown a certificate that was good.
    credentials_ = std::move(next);
  }
  if (!call_ && hooks_.clock() >= not_before_ && IsDue()) Renew();
}

void CertificateRenewal::Renew() {
  v1::RenewCertificateRequest request;
  request.set_csr(pki::MakeRequest(credentials_.key, credentials_.certificate.node()));
  v1::AgentApi::StubInterface* const stub = hooks_.stub();
  call_ = Call::Start(
      io_, std::move(request), kAnswerLimit,
      [stub](grpc::ClientContext* context, const v1::RenewCertificateRequest* question,
             v1::RenewCertificateResponse* answer,
             Call* call) { stub->async()->RenewCertificate(context, question, answer, call); },
      [this](const grpc::Status& status, v1::RenewCertificateResponse& response) {
        call_.reset();
        if (stopped_) return;
        if (!status.ok()) return Failed(status.error_message());
        if (Status taken = Take(response); !taken.ok()) Failed(taken.message());
      });
}

Status CertificateRenewal::Take(v1::RenewCertificateResponse& response) {
  auto certificate = pki::Certificate::FromDer(response.certificate());
  if (!certificate.ok()) return certificate.status();
  auto authorities = ReadAuthorities(response.authorities());
  if (!authorities.ok()) return authorities.status();
  const Status good = pki::VerifyOwn(*certificate, *authorities, credentials_.certificate.cluster(),
                                     credentials_.certificate.node(), credentials_.key, hooks_.clock());
  if (!good.ok()) return good;
  NodeCredentials next{credentials_.key, std::move(certificate).value(), std::move(authorities).value()};
  if (Status written = folder_.WriteRenewed(next); !written.ok()) return written;
  version_ = folder_.Version();
  LogInfo("event=certificate_renewed serial={} valid_until_ms={}", next.certificate.serial(),
          next.certificate.valid_until().ms);
  Count(std::move(next));
  return Status::Ok();
}

void CertificateRenewal::Failed(const std::string& why) {
  not_before_ = hooks_.clock() + times_.retry;
  if (why != last_failure_) LogWarning("event=certificate_not_renewed error={}", Quoted(why));
  last_failure_ = why;
}

void CertificateRenewal::Count(NodeCredentials credentials) {
  credentials_ = std::move(credentials);
  came_at_ = hooks_.clock();
  not_before_ = {};
  last_failure_.clear();
  hooks_.renewed(credentials_);
}

}  // namespace glim::nodeagent
