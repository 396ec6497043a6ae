"""An OpenID Connect issuer on loopback with the device flow (RFC 8628): as much of it as a login needs, with authlib's
keys and signatures. `approve` is the user at a browser."""

import http.server
import json
import secrets
import threading
import time
import urllib.parse

from authlib.jose import JsonWebKey, jwt


class Issuer:
    def __init__(self, client):
        self.client, self.key = client, JsonWebKey.generate_key("EC", "P-256", {"kid": "k1"}, is_private=True)
        self.waiting, self.approved = {}, {}  # user code: device code; device code: claims
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(*issuer.get(self.path))

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.answer(*issuer.post(self.path, dict(urllib.parse.parse_qsl(body))))

            def answer(self, status, document):
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def get(self, path):
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
                "token_endpoint": f"{self.url}/token",
                "device_authorization_endpoint": f"{self.url}/device",
                "id_token_signing_alg_values_supported": ["ES256"],
            }
        if path == "/keys":
            public = {**self.key.as_dict(is_private=False), "use": "sig", "alg": "ES256", "kid": "k1"}
            return 200, {"keys": [public]}
        return 404, {"error": "not_found"}

    def post(self, path, form):
        if form.get("client_id") != self.client:
            return 400, {"error": "invalid_client"}
        if path == "/device":
            device, user = secrets.token_hex(16), secrets.token_hex(2).upper()
            self.waiting[user] = device
            page = {"verification_uri": f"{self.url}/go", "user_code": user, "interval": 1, "expires_in": 60}
            return 200, {"device_code": device, **page}
        claims = self.approved.pop(form.get("device_code"), None)
        if claims is None:
            return 400, {"error": "authorization_pending"}
        return 200, {"token_type": "Bearer", "access_token": "-", "id_token": self.id_token(**claims)}

    def id_token(self, name, **more):
        now = int(time.time())
        claims = {"iss": self.url, "aud": self.client, "sub": f"id-of-{name}", "preferred_username": name}
        claims.update({"iat": now, "exp": now + 300, **more})
        return jwt.encode({"alg": "ES256", "kid": "k1"}, claims, self.key).decode()

    def approve(self, user_code, name, **more):
        self.approved[self.waiting.pop(user_code)] = {"name": name, **more}
