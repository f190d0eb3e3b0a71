"""Tokens with a vendor's prefix: the prefix, the body after it, and the vendor's page.

`redaction.py` finds runs of letters and digits that are long enough for a token, and calls `kinds_at` for the kinds
that may begin at the run. The rules are written for this project from the vendors' public pages, which each row names.
Tokens that look like ordinary ids (Datadog, Cohere, Mistral) are left out; they are redacted only after a name for a
secret. The rules were compared with those of gitleaks (MIT, github.com/gitleaks/gitleaks, July 2026); none is copied.

No package has these rules: detect-secrets (Apache-2.0) has some 25 kinds and needs requests and PyYAML; the other tools
are programs.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

# The body after a prefix. Punctuation at the end of a sentence is no part of the body.
_BODIES = {
    "letters": re.compile(r"[A-Za-z0-9]*+"),
    "small": re.compile(r"[a-z0-9]*+(?![A-Z])"),
    "words": re.compile(r"[A-Za-z0-9_-]*+"),
    # A body that could be a hyphenated name needs one part as long as a key, or upper and lower case.
    "key": re.compile(r"[A-Za-z0-9_]{16,}+[A-Za-z0-9_-]*+|(?=[a-z0-9_-]*+[A-Z])(?=[A-Z0-9_-]*+[a-z])[A-Za-z0-9_-]*+"),
    "dotted": re.compile(r"[A-Za-z0-9_-]*+(?:[.~=%]{1,3}+[A-Za-z0-9_-]++)*+"),
    "base64": re.compile(r"[A-Za-z0-9+/_-]*+={0,2}"),
    "hex": re.compile(r"[0-9a-fA-F]*+(?:-[0-9a-fA-F]++)*+"),
}


class Kind(NamedTuple):
    """A token: `prefix`, then at least `least` characters of `body`. `has_digit`: the body must include a digit,
    because a prefix of two or three letters may begin a word."""

    name: str
    prefix: str
    body: re.Pattern[str]
    least: int
    has_digit: bool


# Name, prefixes, body, its least length, and the page. A body with `+#` has a digit.
_TABLE = """
anthropic    sk-ant-api03-,sk-ant-admin01-,sk-ant-oat01-,sk-ant-sid01-,sk-ant-  words+# 16  platform.claude.com/docs/en/api/overview
openai       sk-proj-,sk-svcacct-,sk-admin-  words+# 16  platform.openai.com/docs/api-reference/authentication
openai       sk-  key+# 16  platform.openai.com/docs/api-reference/authentication
openrouter   sk-or-v1-  words+# 16  openrouter.ai/docs/api-reference/authentication
langfuse     sk-lf-  hex 32  langfuse.com/docs/api-and-data-platform/features/public-api
langsmith    lsv2_pt_,lsv2_sk_  words 40  docs.langchain.com/langsmith/create-account-api-key
huggingface  hf_,api_org_  letters 30  huggingface.co/docs/hub/security-tokens
groq         gsk_  letters 40  console.groq.com/docs/quickstart
perplexity   pplx-  letters 40  docs.perplexity.ai/getting-started/api-groups
xai          xai-  letters 60  docs.x.ai/docs/tutorial
replicate    r8_  letters 37  replicate.com/docs/topics/security/api-tokens
cerebras     csk-  letters 40  inference-docs.cerebras.ai/quickstart
fireworks    fw_  letters+# 20  docs.fireworks.ai/getting-started/quickstart
together     tgp_v1_  words 40  docs.together.ai/docs/quickstart
nvidia       nvapi-  words 60  docs.nvidia.com/ngc/gpu-cloud/ngc-user-guide/index.html
tavily       tvly-  words+# 20  docs.tavily.com/documentation/quickstart
firecrawl    fc-  hex 32  docs.firecrawl.dev/introduction
pinecone     pcsk_  words 40  docs.pinecone.io/guides/projects/manage-api-keys
elevenlabs   sk_  hex 48  elevenlabs.io/docs/api-reference/authentication
jina         jina_  words 40  jina.ai/embeddings
llamacloud   llx-  letters 40  docs.cloud.llamaindex.ai/api_key
e2b          e2b_  hex 40  e2b.dev/docs/api-key
runpod       rpa_  letters 40  docs.runpod.io/get-started/api-keys
posthog      phx_  letters 40  posthog.com/docs/api
apify        apify_api_  letters 36  docs.apify.com/platform/integrations/api
aws          AKIA,ASIA,ABIA,ACCA  letters 16  docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
bedrock      ABSK,bedrock-api-key-  base64 100  docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html
google       AIza  words 30  cloud.google.com/docs/authentication/api-keys
google_oauth ya29.,GOCSPX-,1//0  dotted 24  developers.google.com/identity/protocols/oauth2
alibaba      LTAI  letters+# 12  alibabacloud.com/help/en/ram/user-guide/create-an-accesskey-pair
tencent      AKID  letters+# 28  cloud.tencent.com/document/product/598/40488
yandex       AQVN  words 35  yandex.cloud/en/docs/iam/concepts/authorization/api-key
yandex_iam   t1.  dotted 80  yandex.cloud/en/docs/iam/concepts/authorization/iam-token
yandex_oauth y0_  words 50  yandex.com/dev/id/doc/en/access
scaleway     SCW  letters+# 17  scaleway.com/en/docs/iam/how-to/create-api-keys
digitalocean dop_v1_,doo_v1_,dor_v1_  hex 40  docs.digitalocean.com/reference/api/create-personal-access-token
heroku       HRKU-  words 36  devcenter.heroku.com/articles/authentication
cloudflare   cfk_,cfut_,cfat_  words 40  developers.cloudflare.com/fundamentals/api/get-started/token-formats
cloudflare_origin  v1.0-  hex 150  developers.cloudflare.com/fundamentals/api/get-started/ca-keys
fly          fo1_,fm1r_,fm1a_,fm2_  base64 40  fly.io/docs/security/tokens
render       rnd_  letters 28  render.com/docs/api
vercel       vcp_,vci_,vca_,vcr_,vck_  letters+# 20  vercel.com/changelog/new-token-formats-and-secret-scanning
netlify      nfp_,nfc_,nfo_,nfu_,nfb_  letters 30  answers.netlify.com/t/106146
supabase     sbp_  hex 40  supabase.com/docs/reference/api/introduction
supabase_key sb_secret_  words 24  supabase.com/docs/guides/api/api-keys
neon         napi_  letters 40  neon.com/docs/manage/api-keys
planetscale  pscale_tkn_,pscale_oauth_,pscale_pw_  dotted 32  planetscale.com/docs/api/reference/service-tokens
mongodb      mdb_sa_sk_  words 32  mongodb.com/docs/atlas/api/service-accounts-overview
cockroachdb  CCDB1_  words 40  cockroachlabs.com/docs/cockroachcloud/managing-access
clickhouse   4b1d  letters 38  clickhouse.com/docs/cloud/manage/openapi
aiven        AVNS_  words 16  aiven.io/docs/platform/howto/reset-service-password
databricks   dapi  hex 32  docs.databricks.com/en/dev-tools/auth/pat.html
confluent    cflt  base64 56  docs.confluent.io/cloud/current/security/authenticate/workload-identities/service-accounts/api-keys/overview.html
elastic      essu_  base64 40  elastic.co/docs/deploy-manage/api-keys/elastic-cloud-api-keys
grafana      glsa_,glc_  base64 32  grafana.com/docs/grafana/latest/administration/service-accounts
sentry       sntryu_,sntrys_  base64 40  docs.sentry.io/account/auth-tokens
newrelic     NRAK-,NRII-,NRRA-  words 27  docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys
dynatrace    dt0c01.,dt0s01.,dt0s02.  dotted 60  docs.dynatrace.com/docs/manage/identity-access-management/access-tokens-and-oauth-clients/access-tokens
honeycomb    hcaik_,hcxik_,hcbik_,hcamk_  letters 50  docs.honeycomb.io/configure/environments/manage-api-keys
launchdarkly sdk-,mob-,api-  hex 36  launchdarkly.com/docs/home/account/api
github       ghp_,gho_,ghu_,ghs_,ghr_  letters 20  docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github
github_pat   github_pat_  words 20  docs.github.com/en/authentication/keeping-your-account-and-data-secure/managing-your-personal-access-tokens
gitlab       glpat-,gldt-,glrt-,glrtr-,glcbt-,glptt-,glft-,glffct-,glimt-,glagent-,gloas-,glsoat-,glwt-,GR1348941  dotted 20  docs.gitlab.com/security/tokens
bitbucket    ATBB,ATCTT3  dotted 24  support.atlassian.com/bitbucket-cloud/docs/app-passwords
atlassian    ATATT3  dotted 60  support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account
circleci     CCIPAT_,CCIPRJ_  words 40  circleci.com/docs/managing-api-tokens
buildkite    bkua_  hex 40  buildkite.com/docs/apis/managing-api-tokens
harness      pat.,sat.  dotted 60  developer.harness.io/docs/platform/automation/api/add-and-manage-api-keys
octopus      API-  letters+# 25  octopus.com/docs/octopus-rest-api/how-to-create-an-api-key
npm          npm_  letters 30  docs.npmjs.com/about-access-tokens
pypi         pypi-  words 50  pypi.org/help
rubygems     rubygems_  hex 48  guides.rubygems.org/api-key-scopes
nuget        oy2  small+# 43  learn.microsoft.com/en-us/nuget/nuget-org/scoped-api-keys
crates       cio  letters+# 32  doc.rust-lang.org/cargo/reference/registry-authentication.html
docker       dckr_pat_,dckr_oat_  words 24  docs.docker.com/security/access-tokens
jfrog        AKCp,cmVmd  letters 55  jfrog.com/help/r/jfrog-platform-administration-documentation/api-key
clojars      CLOJARS_  hex 60  github.com/clojars/clojars-web/wiki/Deploy-Tokens
terraform    atlasv1.  words 60  developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens
vault        hvs.,hvb.,hvr.  words 24  developer.hashicorp.com/vault/docs/concepts/tokens
pulumi       pul-  hex 40  pulumi.com/docs/administration/access-identity/access-tokens
doppler      dp.pt.,dp.st.,dp.st.dev.,dp.st.stg.,dp.st.prd.,dp.sa.,dp.ct.,dp.scim.,dp.audit.  dotted 40  docs.doppler.com/reference/auth-token-formats
onepassword  ops_eyJ  base64 60  developer.1password.com/docs/service-accounts
onepassword_key  A3-  words 30  support.1password.com/secret-key
age          AGE-SECRET-KEY-1  letters 58  github.com/FiloSottile/age
tailscale    tskey-  words 20  tailscale.com/kb/1101/api
openshift    sha256~  words 40  docs.redhat.com/en/documentation/openshift_container_platform
sonar        squ_,sqp_,sqa_  hex 40  docs.sonarsource.com/sonarqube-server/user-guide/managing-tokens
sourcegraph  sgp_  hex 40  sourcegraph.com/docs/cli/how-tos/creating_an_access_token
sourcegraph  sgp_  words 50  sourcegraph.com/docs/cli/how-tos/creating_an_access_token
postman      PMAK-  words 58  learning.postman.com/docs/developer/postman-api/authentication
readme       rdme_  letters 60  docs.readme.com/main/reference/intro-authentication
prefect      pnu_,pnb_  letters 36  docs.prefect.io/v3/manage/cloud/manage-users/api-keys
infracost    ico-  letters 32  infracost.io/docs
scalingo     tk-us-  words 40  developers.scalingo.com/index
linear       lin_api_,lin_oauth_  letters 32  linear.app/developers/graphql
notion       ntn_,secret_  letters 40  developers.notion.com/reference/authentication
figma        figd_,figo_  words 40  developers.figma.com/docs/rest-api/authentication
airtable     pat  dotted+# 79  support.airtable.com/docs/creating-personal-access-tokens
contentful   CFPAT-  words 40  contentful.com/developers/docs/references/authentication
mapbox       sk.eyJ,tk.eyJ  dotted 60  docs.mapbox.com/help/dive-deeper/access-tokens
typeform     tfp_  dotted 40  typeform.com/developers/get-started/personal-access-token
hubspot      pat-na1-,pat-na2-,pat-eu1-,pat-ap1-  hex 32  developers.hubspot.com/docs/guides/apps/private-apps/overview
intercom     dG9rO  base64 50  developers.intercom.com/docs/build-an-integration/learn-more/authentication
shopify      shpat_,shpca_,shppa_,shpss_,shptka_  hex 32  shopify.dev/docs/apps/build/authentication-authorization
stripe       sk_live_,sk_test_,sk_prod_,rk_live_,rk_test_,rk_prod_  letters 10  docs.stripe.com/keys
webhook      whsec_  base64 24  docs.stripe.com/webhooks/signature
square       sq0atp-,sq0csp-,sq0idp-  words 22  developer.squareup.com/docs/build-basics/access-tokens
square       EAAA  words 55  developer.squareup.com/docs/build-basics/access-tokens
plaid        access-sandbox-,access-development-,access-production-  hex 36  plaid.com/docs/api/tokens
adyen        AQE  base64+# 80  docs.adyen.com/development-resources/api-credentials
flutterwave  FLWSECK-,FLWSECK_TEST-  words 12  developer.flutterwave.com/docs/authentication
mollie       live_,test_  letters+# 30  docs.mollie.com/reference/authentication
gocardless   live_,sandbox_  words+# 40  developer.gocardless.com/getting-started/api/making-your-first-request
duffel       duffel_live_,duffel_test_  words 40  duffel.com/docs/api/overview/making-requests
shippo       shippo_live_,shippo_test_  hex 40  docs.goshippo.com/docs/guides_general/authentication
easypost     EZAK,EZTK  letters 54  docs.easypost.com/docs/authentication
facebook     EAA  letters+# 90  developers.facebook.com/docs/facebook-login/guides/access-tokens
instagram    IGQ  words+# 90  developers.facebook.com/docs/instagram-platform/overview
pinterest    pina_  words 32  developers.pinterest.com/docs/getting-started/set-up-authentication-and-authorization
dropbox      sl.,sl.u.  dotted 60  developers.dropbox.com/oauth-guide
slack        xoxa-,xoxb-,xoxe-,xoxo-,xoxp-,xoxr-,xoxs-,xoxd-,xoxc-,xoxe.xoxb-,xoxe.xoxp-  words 10  docs.slack.dev/authentication/tokens
slack_app    xapp-,xwfp-  words 24  docs.slack.dev/authentication/tokens
sendgrid     SG.  dotted 40  www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys
twilio       SK  hex 32  www.twilio.com/docs/iam/api-keys
brevo        xkeysib-,xsmtpsib-  words 60  developers.brevo.com/docs/getting-started
mailgun      key-,pubkey-  hex 32  documentation.mailgun.com/docs/mailgun/api-reference/authentication
resend       re_  words+# 24  resend.com/docs/dashboard/api-keys/introduction
klaviyo      pk_  hex 34  developers.klaviyo.com/en/docs/authenticate_
frameio      fio-u-  words 60  developer.frame.io
ory          ory_at_,ory_st_,ory_pat_,ory_rt_  dotted 32  www.ory.com/docs/concepts/personal-access-token
stytch       secret-live-,secret-test-  words+# 30  stytch.com/docs/api/overview
zuplo        zpka_  words 32  zuplo.com/docs/articles/api-key-management
inngest      signkey-prod-,signkey-test-  hex 40  www.inngest.com/docs/platform/signing-keys
trigger      tr_dev_,tr_prod_,tr_stg_,tr_preview_  letters 20  trigger.dev/docs/apikeys
adafruit     aio_  letters+# 28  io.adafruit.com/api/docs
intra42      s-s4t2ud-,s-s4t2af-  hex 60  api.intra.42.fr/apidoc
settlemint   sm_aat_,sm_pat_,sm_sat_  letters 16  console.settlemint.com/documentation
retool       retool_01  words 24  docs.retool.com/org-users/guides/retool-api/authentication
"""  # noqa: E501 - a row stays a row


def _kinds() -> Iterator[tuple[Kind, str]]:
    for row in _TABLE.strip().splitlines():
        name, prefixes, body, least, page = row.split()
        body, _, digit = body.partition("+")
        for prefix in prefixes.split(","):
            yield Kind(name, prefix, _BODIES[body], int(least), digit == "#"), page


_KNOWN = tuple(_kinds())
KINDS = tuple(kind for kind, _ in _KNOWN)
PAGES = {kind.name: f"https://{page}" for kind, page in _KNOWN}

# Kinds by the first two letters of the prefix, the longest prefix first.
BEGINNINGS: dict[str, list[Kind]] = {}
for _kind in sorted(KINDS, key=lambda kind: -len(kind.prefix)):
    BEGINNINGS.setdefault(_kind.prefix[:2], []).append(_kind)

# Those that count when a word precedes them directly: a short prefix, or one whose body must have a digit, may be part
# of the word. Chosen here: the least length of such a prefix.
_TELLING_PREFIX = 4
GLUED = {
    begun: telling
    for begun, kinds in BEGINNINGS.items()
    if (telling := [kind for kind in kinds if not kind.has_digit and len(kind.prefix) >= _TELLING_PREFIX])
}

# The parts of prefixes before the run of the body, such as `SG.`, `dp.pt.`, `1//`, `sha256~`.
LEADS = tuple(
    sorted({kind.prefix[: last + 1] for kind in KINDS if (last := max(map(kind.prefix.rfind, "./~"))) >= 0}, key=len)
)


# Prefixes of base64 tokens. Such a token may have no long run at its beginning, because of an early `+` or `/`.
_BASE64_PREFIXES = tuple(kind.prefix for kind in KINDS if kind.body is _BODIES["base64"])
_BASE64_PREFIX = re.compile("|".join(map(re.escape, _BASE64_PREFIXES)))


def base64_prefix_in(text: str) -> int:
    """The index of the last base64 token's prefix in a short text; -1 if there is none."""
    return max(map(text.rfind, _BASE64_PREFIXES)) if _BASE64_PREFIX.search(text) else -1


def kinds_at(text: str, at: int, known: Mapping[str, list[Kind]] = BEGINNINGS) -> list[Kind]:
    """The kinds whose prefix is at this index, the longest prefix first."""
    begun = known.get(text[at : at + 2])
    return [kind for kind in begun if text.startswith(kind.prefix, at)] if begun else []
