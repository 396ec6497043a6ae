#include "nodeagent/identity/certificate_renewal.h"

#include <algorithm>
#include <utility>

#include "sdk/log/log.h"
#include "sdk/log/quoted.h"
#include "sdk/pki/certificate_request.h"

namespace glim::nodeagent {
namespace {

constexpr std::chrono::seconds kAnswerLimit{30};

// Whether the authority that signs nodes now has signed this one.
bool IsOfLast(const pki::Certificate& certificate, const std::vector<pki::Certificate>& authorities) {
  return certificate.issuer_key_id() == authorities.back().key_id();
}

// Whether one of `before` is not among `now`.
bool IsDropped(const std::vector<pki::Certificate>& before, const std::vector<pki::Certificate>& now) {
  return std::any_of(before.begin(), before.end(),
                     [&](const pki::Certificate& one) { return std::find(now.begin(), now.end(), one) == now.end(); });
}

bool IsOfSame(const pki::Certificate& a, const pki::Certificate& b) {
  return a.node() == b.node() && a.cluster() == b.cluster();
}

Duration LifeOf(const pki::Certificate& certificate) { return certificate.valid_until() - certificate.valid_from(); }

}  // namespace

CertificateRenewal::CertificateRenewal(boost::asio::io_context& io, IdentityFolder folder, NodeCredentials credentials,
                                       Times times, std::uint64_t seed, Hooks hooks)
    : io_(io),
      folder_(std::move(folder)),
      times_(times),
      hooks_(std::move(hooks)),
      credentials_(std::move(credentials)),
      version_(folder_.Version()),
      came_at_(hooks_.clock()),
      rng_(seed),
      timer_(io) {
  due_at_ = pki::RenewAt(credentials_.certificate) + Share(LifeOf(credentials_.certificate) / 12);
}

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
    TakeFile();
  }
  RenewIfDue();
  timer_.expires_after(times_.look);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Look();
  });
}

// Somebody else has written or removed it.
void CertificateRenewal::TakeFile() {
  auto read = folder_.Read();
  const bool another = read.ok() && !IsOfSame(read->certificate, credentials_.certificate);
  is_ours_ = version_ != 0 && !another;
  if (another) {
    LogWarning("event=identity_of_another node={} cluster={} note=\"it counts when this agent has been restarted\"",
               read->certificate.node(), read->certificate.cluster());
  } else if (read.ok()) {
    LogInfo("event=enrolled_anew serial={}", read->certificate.serial());
    ++enrolments_;
    Count(std::move(read).value());
  } else {
    LogWarning("event=identity_not_read error={} note={}", Quoted(read.status().message()),
               is_ours_ ? "\"the next renewal mends it\"" : "\"it is not renewed any more\"");
  }
}

// Up to `whole`, another each time.
Duration CertificateRenewal::Share(Duration whole) { return {rng_.Between(0, whole.ms)}; }

// By a clock that may have been set back meanwhile: nothing waits for more than twice its time.
bool CertificateRenewal::HasPassed(TimePoint since, Duration time) const {
  const TimePoint now = hooks_.clock();
  return now + time < since || now >= since + time;
}

bool CertificateRenewal::IsDue() const {
  if (!IsOfLast(credentials_.certificate, credentials_.authorities)) return true;
  // By a clock that is weeks ahead each certificate is old when it comes.
  if (renewed_ && !HasPassed(came_at_, std::min(LifeOf(credentials_.certificate) / 30, times_.at_most / 2))) {
    return false;
  }
  return hooks_.clock() >= due_at_ || HasPassed(came_at_, times_.at_most);
}

void CertificateRenewal::RenewIfDue() {
  if (!call_ && is_ours_ && HasPassed(failed_at_, pause_) && IsDue()) Renew();
}

void CertificateRenewal::OnAuthorities(const google::protobuf::RepeatedPtrField<std::string>& authorities) {
  if (authorities.empty() || stopped_) return;
  auto read = ReadAuthorities(authorities);
  if (!read.ok()) return LogWarning("event=authorities_not_read error={}", Quoted(read.status().message()));
  if (*read != credentials_.authorities || unsaved_) {
    NodeCredentials next = credentials_;
    next.authorities = std::move(read).value();
    const Status written = Write(next);
    LogInfo("event=authorities_changed authorities={} error={}", next.authorities.size(), Quoted(written.message()));
    const bool dropped = IsDropped(credentials_.authorities, next.authorities);
    credentials_ = std::move(next);
    unsaved_ = !written.ok();  // a full disk does not keep anybody trusted; the next Welcome's is written
    // The connection that is there, and each that would be made by the same credentials, trusts who counts no more. Who
    // came in addition changes nothing for whoever is connected.
    if (dropped) hooks_.renewed(credentials_);
  }
  RenewIfDue();
}

void CertificateRenewal::Renew() {
  // Without room for it the answer would be lost, and asked for again and again.
  if (const auto room = folder_.Begin(); !room.ok()) return Failed(room.status().message());
  // Another key each time: whoever has copied the one of before (from a backup, say) has nothing then.
  const pki::PrivateKey key = pki::PrivateKey::Make();
  v1::RenewCertificateRequest request;
  request.set_csr(pki::MakeRequest(key, credentials_.certificate.node()));
  v1::AgentApi::StubInterface* const stub = hooks_.stub();
  call_ = Call::Start(
      io_, std::move(request), kAnswerLimit,
      [stub](grpc::ClientContext* context, const v1::RenewCertificateRequest* question,
             v1::RenewCertificateResponse* answer,
             Call* call) { stub->async()->RenewCertificate(context, question, answer, call); },
      [this, key, asked = enrolments_](const grpc::Status& status, v1::RenewCertificateResponse& response) {
        call_.reset();
        if (stopped_ || asked != enrolments_) return;  // it is of the identity that was before
        if (!status.ok()) return Failed(status.error_message());
        if (Status taken = Take(response, key); !taken.ok()) Failed(taken.message());
      });
}

Status CertificateRenewal::Take(const v1::RenewCertificateResponse& response, const pki::PrivateKey& key) {
  const pki::Certificate& own = credentials_.certificate;
  auto next =
      CheckReceived(response.certificate(), response.authorities(), own.cluster(), own.node(), key, hooks_.clock());
  if (!next.ok()) return next.status();
  if (Status written = Write(*next); !written.ok()) return written;
  LogInfo("event=certificate_renewed serial={} valid_until_ms={}", next->certificate.serial(),
          next->certificate.valid_until().ms);
  renewed_ = true;
  unsaved_ = false;
  Count(std::move(next).value());
  return Status::Ok();
}

// Unless somebody else has written meanwhile: what `enrol` brought is taken at the next look.
Status CertificateRenewal::Write(const NodeCredentials& next) {
  Status gone{StatusCode::kAborted, "this node's identity was removed or written anew meanwhile"};
  if (!is_ours_) return gone;
  auto draft = folder_.Begin();
  if (!draft.ok()) return draft.status();
  if (folder_.Version() != version_) return gone;
  if (Status written = draft->Become(next, folder_.Scheduler()); !written.ok()) return written;
  version_ = folder_.Version();
  return Status::Ok();
}

void CertificateRenewal::Failed(const std::string& why) {
  failed_at_ = hooks_.clock();
  pause_ = times_.retry + Share(times_.retry);
  const bool over = credentials_.certificate.valid_until() < hooks_.clock();
  const std::string note = over ? "it has ended: an operator invites this node again" : "it is tried again";
  if (const std::string words = why + note; words == std::exchange(last_failure_, words)) return;
  LogWarning("event=certificate_not_renewed error={} valid_until_ms={} note={}", Quoted(why),
             credentials_.certificate.valid_until().ms, Quoted(note));
}

void CertificateRenewal::Count(NodeCredentials credentials) {
  credentials_ = std::move(credentials);
  came_at_ = hooks_.clock();
  due_at_ = pki::RenewAt(credentials_.certificate) + Share(LifeOf(credentials_.certificate) / 12);
  pause_ = {};
  last_failure_.clear();
  hooks_.renewed(credentials_);
}

}  // namespace glim::nodeagent
