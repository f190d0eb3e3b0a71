"""Secrets of every kind, made up at run time by their vendors' published forms, and what they stand in.

A form is what never changes, with what is drawn in braces: {A36} letters and digits, {W43} those with `_` and `-`,
{B60} base64, {h40} hex, {D10} digits, {U16} capitals and digits, {l32} small letters and digits, {a58} bech32, {uuid}.
They are written beside the table that redaction uses and not from it, so that each can show that the other is wrong.
No whole token stands in this file.
"""

import random
import re
import string
from collections.abc import Callable

_DIGITS, _HEX = string.digits, "0123456789abcdef"
_LETTERS = string.ascii_letters + _DIGITS
_ALPHABETS = {
    "A": _LETTERS,
    "W": _LETTERS + "_-",
    "B": _LETTERS + "+/",
    "h": _HEX,
    "D": _DIGITS,
    "U": string.ascii_uppercase + _DIGITS,
    "l": string.ascii_lowercase + _DIGITS,
    "a": "ACDEFGHJKLMNPQRSTUVWXYZ023456789",  # bech32
}
_DRAWN = re.compile(r"\{(?:uuid|([A-Za-z])(\d+))\}")

FORMS = """
anthropic sk-ant-api03-{W93}AA
anthropic-admin sk-ant-admin01-{W93}AA
anthropic-oauth sk-ant-oat01-{W93}AA
openai sk-{A20}T3BlbkFJ{A20}
openai-project sk-proj-{W74}T3BlbkFJ{W74}
openai-service sk-svcacct-{W58}T3BlbkFJ{W58}
openrouter sk-or-v1-{h64}
langfuse sk-lf-{uuid}
deepseek sk-{h32}
langsmith lsv2_pt_{h32}_{h10}
huggingface hf_{A34}
groq gsk_{A52}
perplexity pplx-{A48}
xai xai-{A80}
replicate r8_{A37}
cerebras csk-{l48}
fireworks fw_{A22}
together tgp_v1_{W43}
nvidia nvapi-{W64}
tavily tvly-dev-{A32}
firecrawl fc-{h32}
pinecone pcsk_{A6}_{A63}
elevenlabs sk_{h48}
jina jina_{h32}{A28}
llamacloud llx-{A48}
e2b e2b_{h40}
runpod rpa_{U40}{l6}
posthog phx_{A43}
apify apify_api_{A36}
aws-key AKIA{U16}
aws-session-key ASIA{U16}
bedrock ABSK{B108}=
google AIza{W35}
google-secret GOCSPX-{W28}
google-access ya29.a0{W180}
google-refresh 1//0{W100}
alibaba LTAI5t{A18}
tencent AKID{A32}
yandex AQVN{W36}
yandex-iam t1.{W80}.{W86}
yandex-oauth y0_{W55}
scaleway SCW{U17}
digitalocean dop_v1_{h64}
digitalocean-oauth doo_v1_{h64}
digitalocean-refresh dor_v1_{h64}
heroku HRKU-AA{W58}
cloudflare cfut_{A48}
cloudflare-origin v1.0-{h24}-{h146}
fly fo1_{W43}
fly-macaroon fm2_{B200}
render rnd_{A32}
vercel vcp_{A56}
netlify nfp_{A36}
supabase sbp_{h40}
supabase-secret sb_secret_{W31}
neon napi_{l64}
planetscale pscale_tkn_{W43}
planetscale-password pscale_pw_{W43}
mongodb mdb_sa_sk_{W40}
cockroachdb CCDB1_{A22}_{A40}
clickhouse 4b1d{A38}
aiven AVNS_{W19}
databricks dapi{h32}
confluent cflt{B60}
elastic essu_{B60}
grafana glsa_{A32}_{h8}
grafana-cloud glc_{B80}
sentry-user sntryu_{h64}
sentry-org sntrys_{B80}_{B43}
newrelic NRAK-{U27}
newrelic-ingest NRII-{W32}
dynatrace dt0c01.{U24}.{U64}
honeycomb hcaik_01{l56}
launchdarkly sdk-{uuid}
launchdarkly-api api-{uuid}
github ghp_{A36}
github-oauth gho_{A36}
github-user ghu_{A36}
github-server ghs_{A36}
github-refresh ghr_{A76}
github-fine github_pat_{A22}_{A59}
gitlab glpat-{W20}
gitlab-routable glpat-{W27}.01.{l9}
gitlab-deploy gldt-{W20}
gitlab-runner glrt-{W20}
gitlab-job glcbt-{h2}_{W20}
gitlab-trigger glptt-{h40}
gitlab-feed glft-{W20}
gitlab-mail glimt-{W25}
gitlab-agent glagent-{W50}
gitlab-oauth gloas-{h64}
gitlab-scim glsoat-{W20}
gitlab-registration GR1348941{W20}
bitbucket ATBB{A32}
bitbucket-repository ATCTT3xFfGN0{W160}
atlassian ATATT3xFfGF0{W170}
circleci CCIPAT_{A22}_{h40}
buildkite bkua_{h40}
harness pat.{W22}.{h24}.{A20}
octopus API-{U26}
npm npm_{A36}
pypi pypi-AgEIcHlwaS5vcmc{W140}
rubygems rubygems_{h48}
nuget oy2{l43}
crates cio{A32}
docker dckr_pat_{W27}
docker-org dckr_oat_{W32}
jfrog AKCp{A69}
jfrog-reference cmVmd{A59}
clojars CLOJARS_{h60}
terraform {A14}.atlasv1.{W67}
vault hvs.{W95}
vault-batch hvb.{W140}
pulumi pul-{h40}
doppler dp.pt.{A43}
doppler-service dp.st.prd.{A43}
onepassword ops_eyJ{B250}
onepassword-key A3-{U6}-{U6}-{U5}-{U5}-{U5}-{U5}
age AGE-SECRET-KEY-1{a58}
tailscale tskey-auth-{A17}-{A32}
openshift sha256~{W43}
sonar squ_{h40}
sourcegraph sgp_{h16}_{h40}
postman PMAK-{h24}-{h34}
readme rdme_xn8s9h{l64}
prefect pnu_{A36}
infracost ico-{A32}
scalingo tk-us-{W48}
linear lin_api_{A40}
notion ntn_{D11}{A35}
notion-old secret_{A43}
figma figd_{W40}
airtable pat{A14}.{h64}
contentful CFPAT-{W43}
mapbox sk.eyJ{A57}.{W22}
typeform tfp_{A44}_{A14}
hubspot pat-na1-{uuid}
intercom dG9rO{A54}=
shopify shpat_{h32}
shopify-app shpca_{h32}
shopify-shared shpss_{h32}
stripe sk_live_{A24}
stripe-long sk_test_51{A97}
stripe-restricted rk_live_{A24}
stripe-webhook whsec_{A32}
square sq0atp-{W22}
square-secret sq0csp-{W43}
square-access EAAA{W60}
plaid access-production-{uuid}
adyen AQE{B97}
flutterwave FLWSECK-{h32}-X
mollie live_{A30}
gocardless live_{W40}
duffel duffel_live_{W43}
shippo shippo_live_{h40}
easypost EZAK{A54}
facebook EAA{A180}
instagram IGQ{A150}
pinterest pina_{U64}
dropbox sl.u.{W140}
slack-bot xoxb-{D12}-{D13}-{A24}
slack-user xoxp-{D12}-{D12}-{D13}-{h32}
slack-config xoxe.xoxp-1-{U163}
slack-app xapp-1-A{U10}-{D13}-{h64}
sendgrid SG.{W22}.{W43}
twilio SK{h32}
brevo xkeysib-{h64}-{A16}
mailgun key-{h32}
resend re_{A8}_{A24}
klaviyo pk_{h34}
frameio fio-u-{W64}
ory ory_at_{W43}.{W43}
stytch secret-live-{W36}
zuplo zpka_{h32}_{h8}
inngest signkey-prod-{h64}
trigger tr_prod_{A24}
adafruit aio_{A28}
intra42 s-s4t2ud-{h64}
settlemint sm_aat_{A16}
retool retool_01{W32}
discord M{W23}.{W6}.{W38}
telegram {D10}:AA{W33}
firebase AAAA{W7}:APA91b{W134}
asana 1/{D16}:{h32}
mailchimp {h32}-us12
maxmind {A6}_{A29}_mmk
azure-devops {A76}AZDO{A4}
azure-annotated {A52}JQQJ99{A26}
azure-client {A3}8Q~{W34}
twitter AAAAAAAAAAAAAAAAAAAAA{A24}%2F{A20}%3D{A38}
braintree access_token$production${l16}${h32}
slack-webhook https://hooks.slack.com/services/T{U10}/B{U10}/{A24}
discord-webhook https://discord.com/api/webhooks/{D19}/{W68}
teams-webhook https://acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{h32}/{uuid}
jwt eyJhbGciOiJIUzI1NiJ9.eyJ{A60}.{W43}
""".strip().splitlines()

# What a name tells, whatever the value looks like: how it is said, with `{}` for the value; and the value's form.
NAMED = {
    "curl user": ("curl -sS -u deploy:{} https://ci.example/job", "{A14}"),
    "curl long option": ("curl --user 'deploy:{}' https://ci.example/job", "{A14}"),
    "passphrase option": ("gpg --batch --passphrase {} -d backup.gpg", "{A14}"),
    "password option": ("vault login --password {} --user me", "{A14}"),
    "token option": ("ci trigger --token {} main", "{A20}"),
    "api key option": ("tool --api-key {} run", "{A20}"),
    "short option": ("run --pass {} --user me", "{A14}"),
    "short environment": ("DB_PASS={} run", "{A14}"),
    "sql": ("ALTER ROLE app WITH PASSWORD '{}';", "{A14}"),
    "sql identified": ("CREATE USER app IDENTIFIED BY '{}';", "{A14}"),
    "kubernetes variable": ("  - name: DB_PASSWORD\n    value: {}\n", "{A14}"),
    "dockerfile": ("FROM scratch\nENV DB_PASSWORD {}\n", "{A14}"),
    "mysql": ("mysql -h db -u root -p{} shop", "{A14}"),
    "sshpass": ("sshpass -p {} ssh me@host", "{A14}"),
    "redis-cli": ("redis-cli -h cache -a {} ping", "{A14}"),
    "docker login": ("docker login -u me -p {} registry.example", "{A14}"),
    "netrc": ("machine git.example login me password {}", "{A14}"),
    "pwd of a connection": ("Server=db;Uid=sa;Pwd={};Encrypt=yes", "{A14}"),
    "password of a connection": ("Server=db;User ID=sa;Password={};Encrypt=yes", "{A14}"),
    "environment": ("MYSQL_PWD={} mysqldump shop", "{A14}"),
    "azure account": ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}==", "{B86}"),
    "azure shared access": ("Endpoint=sb://a;SharedAccessKeyName=k;SharedAccessKey={}=", "{B43}"),
    "azure sas": (
        "https://a.blob.core.windows.net/c/b?sv=2024-11-04&se=2027-01-01&sr=b&sp=r&sig={}%3D",
        "{A20}%2B{A22}",
    ),
    "aws presigned": ("https://b.s3.amazonaws.com/k?X-Amz-Expires=300&X-Amz-Signature={}", "{h64}"),
    "google signed": ("https://storage.googleapis.com/b/o?X-Goog-Expires=9&X-Goog-Signature={}", "{h512}"),
    "aws secret": ("aws_secret_access_key = {}", "{B40}"),
    "datadog": ("DD_API_KEY={}", "{h32}"),
    "datadog application": ("DD_APP_KEY={}", "{h40}"),
    "azure subscription": ("Ocp-Apim-Subscription-Key: {}", "{h32}"),
    "heroku": ("HEROKU_API_KEY={}", "{uuid}"),
    "okta": ("Authorization: SSWS {}", "00{W40}"),
    "gitlab header": ("PRIVATE-TOKEN: {}", "{A20}"),
    "basic": ("Authorization: Basic {}=", "{B42}"),
    "docker auth": ('{{"auths": {{"registry.example": {{"auth": "{}="}}}}}}', "{B42}"),
    "npm auth": ("//registry.example/:_auth={}=", "{B42}"),
    "cookie": ("Cookie: session={}; theme=dark", "{A40}"),
    "url": ("postgres://app:{}@db.example/shop", "{A14}"),
    "kubernetes": ("    client-key-data: {}", "{B120}"),
    "wireguard": ("PrivateKey = {}=", "{B43}"),
    "pem": ("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", "{B64}"),
}


def made(form: str, draw: random.Random) -> str:
    """A secret of the form. What is drawn has a digit and a letter, as nearly every true one has."""

    def drawn(found: re.Match[str]) -> str:
        if found[1] is None:
            return "-".join(_of(_HEX, length, draw) for length in (8, 4, 4, 4, 12))
        return _of(_ALPHABETS[found[1]], int(found[2]), draw)

    return _DRAWN.sub(drawn, form)


def _of(alphabet: str, length: int, draw: random.Random) -> str:
    while True:
        text = "".join(draw.choices(alphabet, k=length))
        begins_and_ends = text[0].isalnum() and text[-1].isalnum()
        mixed = length < 6 or alphabet == _DIGITS or (re.search("[0-9]", text) and re.search("[A-Za-z]", text))
        if begins_and_ends and mixed:
            return text


# What a secret stands in. A form takes the secret, and gives the text.
PLACES: dict[str, Callable[[str], str]] = {
    "prose": lambda secret: f"I set it to {secret}, and then the call worked.",
    "end of a sentence": lambda secret: f"It is {secret}.",
    "JSON": lambda secret: f'{{"user": "me", "value": "{secret}", "n": 1}}',
    "JSON in JSON": lambda secret: f'{{"body": "{{\\"value\\": \\"{secret}\\"}}"}}',
    "escaped line": lambda secret: f'{{"log": "first\\n{secret}\\nlast"}}',
    "shell": lambda secret: f"export ACME={secret} && run --with '{secret}' \"$HOME\"",
    "URL": lambda secret: f"https://api.example/v1/{secret}/x?a=1&b={secret}&c=2#{secret}",
    "percent": lambda secret: f"https://api.example/login?next=%2Fx%3Fcode%3D{secret}%26y",
    "header": lambda secret: f"GET / HTTP/1.1\r\nHost: a.example\r\nX-Acme: {secret}\r\n\r\n",
    "YAML": lambda secret: f"acme:\n  - value: {secret}\n    n: 1\n",
    "colour": lambda secret: f"\x1b[1;32m{secret}\x1b[0m ok",
    "list": lambda secret: f"('{secret}', [{secret}], <{secret}>, `{secret}`)",
}
# The same, cut by a line's end: what stands before, between and after.
CUTS: dict[str, Callable[[str, str], str]] = {
    "wrapped": lambda head, tail: f"The token is\n{head}\n{tail}\nand works.",
    "indented": lambda head, tail: f"value: {head}\n       {tail}\nnext: 1",
    "continued": lambda head, tail: f"run {head}\\\n{tail} --fast",
    "joined": lambda head, tail: f'KEY = ("{head}"\n       "{tail}")',
    "quoted mail": lambda head, tail: f"> see {head}\n> {tail}\n> bye",
    "in JSON": lambda head, tail: f'{{"log": "see {head}\\n{tail} there"}}',
}


def tokens(seed: int = 0) -> dict[str, str]:
    """One token of each kind."""
    draw = random.Random(seed)
    return {name: made(form, draw) for name, form in (line.split(" ", 1) for line in FORMS)}
