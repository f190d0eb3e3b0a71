"""Wordings that try to steer a reader, for `trust.py`: patterns over folded text, by what the text asks for.

Chosen here after the attack families of decision 032 and the wordings that its sources quote. A plain lesson ("add
indexes on join columns", "verify the user id before cancelling") matches none.
"""

_WHOSE = (
    r"(?:all |any |every |each |the |your |its |my |our |these |those |this |of |previous |prior |earlier |above |"
    r"preceding |former |existing |current |original |system |safety |developer )*"
)
_RULES = (
    r"(?:instruction|rule|polic(?:y|ie)|prompt|guardrail|guideline|direction|restriction|constraint|directive|command|"
    r"training|programming|safeguard|safety|filter|message|context|persona|role|objective|goal)"
)
_GUARDED = (
    r"(?:system prompt|prompt|api[ _-]?key|password|passphrase|secret|credential|token|private key|ssh key|cookie|"
    r"environment variable|\.env|env file|session id|conversation|chat history|user data|customer data|personal data|"
    r"card number|cvv|ssn|social security|internal note|instruction)"
)
_ACTS = (
    r"send|forward|copy|upload|post|e-?mail|share|report|transfer|delete|remove|run|execute|install|add|include|append|"
    r"insert|approve|grant|accept|change|replace|redirect|log|save|store|skip|drop|disable|do (?:it|this|so)"
)

_STEPS = (
    r"(?:npm audit|npm (?:ci|install)|yarn|pnpm install|composer (?:update|install)|bundle install|terraform init|"
    r"(?:uv|poetry) lock|cargo (?:update|fix)|go mod (?:tidy|vendor))"
    r"(?=['\"`.,;\s]{0,3}(?:$|for\b|to\b|\n|again\b|[”’]))"
)

# Description of what a text asks for → pattern of its wordings.
STEERING: tuple[tuple[str, str], ...] = (
    (
        "asks to ignore instructions",
        (
            rf"\b(?:ignore|disregard|forget|override|overrule|bypass|neglect|drop|discard|supersede|stop following|"
            rf"do not follow|"
            rf"don't follow|no longer follow)\w* (?:about |with |from )?{_WHOSE}{_RULES}"
        ),
    ),
    (
        "asks to change rules",
        (
            rf"\b(?:change|update|modify|edit|rewrite|replace|alter|amend|reset|adopt|extend)\w* (?:your|the "
            rf"agent's|its|the system|"
            rf"the assistant's) (?:\w+ )?{_RULES}"
            r"|\bfrom (?:now|here|this point) on(?:wards?)?\b,?(?= (?:you|agents?|the assistant|all|every|any|always|"
            r"never|answer|reply|respond|treat|approve|grant|send|share|give|post|ignore)\b)"
            r"|\bnew (?:instructions?|directives?|orders?|system prompt)\b"
            r"|\byou (?:are|will be|must act as|shall be) (?:now|henceforth|hereby)\b|\byou are now\b|\bact as "
            r"(?:an? )?(?:\w+ )?"
            r"(?:admin|root|developer|dan|unrestricted|different)|\bpretend (?:to be|that you)|\bdeveloper mode\b|"
            r"\bjailbreak"
            r"|\bgod mode\b|\badmin(?:istrator)? mode\b|\bdebug mode\b.{0,20}\b(?:enabled|on)\b"
        ),
    ),
    (
        "poses as policy",
        (
            r"\b(?:new|updated?|revised|latest|current|company|corporate|security|compliance|official|internal|"
            r"our|per|pursuant)"
            r"(?: \w+){0,3} (?:polic(?:y|ies)|guidelines?|procedures?|regulations?|directives?|mandates?|memo)\b.{0,60}"
            r"\b(?:requires?|states?|mandates?|says?|dictates?|obliges?|agents?|assistants?|must|should|shall|is "
            r"to|are to)\b"
            r"|\b(?:agents|assistants|models|bots) (?:must|should|shall|are (?:required|expected|asked|encouraged|"
            r"advised) to|"
            r"need to|have to|ought to|will)\b|\b(?:agent|assistant|model|bot) (?:must|shall)\b"
            r"|\b(?:it is|it's) (?:mandatory|required|compulsory|company policy|standard practice|best)\b.{0,60}"
            r"\b(?:without|before|always|never|all)\b"
            r"|\bkindly\b|\bwe (?:would )?(?:appreciate|ask|request|recommend|encourage|require)\b.{0,40}\b(?:you|"
            r"agents?|all)\b"
            r"|\bplease (?:note|ensure|make sure(?! you have the correct access)|be advised|remember|always|never|also|"
            r"forward|send|include|use|do|approve|treat|grant|add|open|visit|confirm|reply|"
            # As package managers and the like ask for one of their own steps.
            rf"run(?! ['\"`]?{_STEPS}\b))\b"
        ),
    ),
    (
        "asks for secrecy",
        (
            r"\b(?:do not|don't|never|without|avoid|refrain from|no need to)\b(?! (?:a|an|any|the) ).{0,12}\b(?:"
            r"(?:tell|mention|inform|reveal|disclos|notify|alert|show|log|report|ask|consult|warn)\w*\b.{0,24}"
            r"\b(?:user|customer|anyone|anybody|operator|human|owner|admin|supervisor|them)|"
            r"(?:tell|mention|reveal|disclos|notify|alert|show)\w*\b.{0,24}\b(?:this|it))\b"
            r"(?! (?:a|an|the|his|her|its|their|one|any|more|what) )"
            # "is silently ignored" and "fails silently" are what tools do; an order has a verb in its base form.
            rf"|\bsecretly\b|\bcovertly\b|\bdiscreetly\b|\b(?:silently|quietly) (?:{_ACTS})\b|"
            rf"\b(?:{_ACTS})\b.{{0,40}}\b(?:silently|quietly)\b|\bkeep (?:this|it|that) "
            r"(?:secret|hidden|private|confidential|between)"
            r"|\bin the background\b.{0,30}\bwithout\b|\bhide (?:this|it|that)\b"
        ),
    ),
    (
        "asks to reveal secrets",
        (
            rf"\b(?:reveal|print|show|output|leak|share(?!d\b)|expose|disclose|repeat|display|dump|return|include|provide|"
            rf"give|list|append|"
            rf"paste|quote|write out|summari[sz]e|recite|echo)(?!\w*r\b)\w*\b.{{0,40}}\b{_GUARDED}"
        ),
    ),
    (
        "asks to send something",
        (
            rf"(?<!the )(?<!their )(?<!by )(?!send a bearer token)\b(?:send|e-?mail|forward|post|upload|"
            rf"transmit|exfiltrat|submit|transfer|"
            rf"wire|deliver|ship|mail|cc|"
            rf"bcc|copy|redirect|"
            rf"publish|report back|call back|beacon)\w*\b.{{0,60}}(?:\bto\b.{{0,40}}(?:@|https?:|"
            rf"(?<!the stored )(?<!the registered )(?<!the same )(?<!its own )\baddress|\baccount|\bserver|\bendpoint|"
            rf"\bwebhook|\bwallet|\bnumber|\bmailbox|\bus\b|\bme\b|\bsupport|\bexternal|\bthird|\bteam)|"
            rf"\b{_GUARDED}|\bfunds\b|\bmoney\b|"
            rf"\bpayment to\b|\brefund to\b)"
        ),
    ),
    (
        "asks to switch protection off",
        (
            r"\b(?:skip|skipping|bypass|disable|disabling|turn off|turning off|deactivate|circumvent|omit|"
            r"suppress|relax|waive|remove|"
            r"ignore|avoid)\w* (?:\w+ ){0,3}(?:verif\w+|authenti\w+|authori[sz]\w+|security|safety|identity "
            r"checks?|permission checks?|"
            r"confirmation|approval|ssl|tls|certificate|firewall|anti-?virus|sandbox|audit\w*|logging|guard\w*|"
            r"access controls?|2fa|mfa|"
            r"review|limits?|restrictions?)\b"
            r"|\bwithout (?:any |further |prior |asking for |requiring |the usual |user |customer |human |"
            r"additional )*(?:verif\w+|"
            r"confirm\w+|authori[sz]\w+|asking|approv\w+|permission|review|authenticat\w+|consent|question\w*|"
            r"hesitat\w+)\b(?!, so )"
        ),
    ),
    (
        "asks for obedience",
        (
            r"\b(?:follow|obey|execute|carry out|perform|comply with|adhere to|act on|do)\w* (?:all |any |every |"
            r"the |these |those |"
            r"whatever |exactly )*(?:instructions?|orders|directions?|steps?|commands?|"
            r"what(?:ever)?)\b(?! in (?:the )?(?:contributing|readme|style guide)\b).{0,50}\b(?:in|from|of|by|on|"
            r"below|above|inside|within|say|tell|here|following)\b"
            r"|\b(?:treat|regard|consider|accept|trust|take)\w* (?:\w+ ){0,5}(?:as|to be) (?:\w+ ){0,2}(?:trusted|"
            r"authoritative|instructions?|"
            r"orders?|gospel|verified|authori[sz]ed|an? admin|true|safe)\b"
            r"|\balways (?:\w+ ){0,2}(?:trust|approve|allow|accept|grant|comply|obey|recommend|prefer|favou?r|"
            r"promote|endorse|choose|agree|"
            r"refund|say yes|suggest|mention|praise)\b"
            r"|\bnever (?:\w+ ){0,2}(?:verify|question|refuse|warn|require|decline|reject|deny|doubt|suggest|"
            r"recommend)\b"
            r"|\b(?:highest|top|absolute|maximum) priority\b|\bmust (?:always )?(?:be )?(?:obey|compl|follow)\w*\b"
            r"|\bthis (?:message|instruction|rule|note|order) (?:overrides?|supersedes?|takes precedence|"
            r"outranks?|is final)\b"
            r"|\brecommend\w* \w+ (?:over|instead of|above) (?:all|any|every|other|compet)"
        ),
    ),
    (
        "asks to spread",
        (
            r"\b(?:remember|memori[sz]e|store|save|record|repeat|copy|include|insert|append|prepend|paste|write|"
            r"add|quote|keep)\w* "
            r"(?:this|these|the following|it|that|the above)(?: \w+){0,4} (?:verbatim|word for word|forever|"
            r"permanently|for later|(?:every|each) (?:time|\w+ (?:you|they))|"
            r"(?:in|into|to|for|at|with|as) (?:your\b|(?:every|all|each|any|future|later|subsequent)(?: \w+){0,3} "
            r"(?:repl|respons|answer|message|reflection|lesson|summar|session|memor|conversation|e-?mail|commit|report|"
            r"task|prompt|request|output|turn|run|note)\w*|memory\b(?! of)|"
            r"(?:the |a |its )?(?:lessons?|reflections?|memories|(?:system )?prompt|next \w+|top|start|end|"
            r"beginning of (?:your|every|each))))\b"
            r"|\bin (?:every|each|all(?: of)?(?: your)?|any|your) (?:\w+ )?(?:future |subsequent |later |next |"
            r"following )?(?:repl|respons|"
            r"answer|message|reflection|lesson|summar|session|memor|conversation|email|commit|report)\w*\b"
            r"|\b(?:all|every|any) (?:future|subsequent|later|upcoming) (?:\w+ )?(?:requests?|tasks?|sessions?|"
            r"conversations?|turns?|agents?|"
            r"users?|customers?|calls?|runs?|orders?|payments?|queries|replies|responses|answers|reflections|messages)\b"
        ),
    ),
    (
        "forges a role or a tag",
        (
            r"</?\s{0,20}(?:system|assistant|user|developer|instructions?|admin|tool|human|data(?:-\w+)?|prompt|rules?|"
            r"policy|memory|reflection|"
            r"context|important|secret|override|function|invoke|s|inst|sys)\b[^>\n]{0,80}>|\[/?(?:inst|system|sys|"
            r"assistant|user|admin|end|"
            r"begin|past reflections|memory|reflections?|important|override|policy|lessons?|strateg\w+|"
            r"instructions?)\b[^\]\n]{0,40}\]|<\|[^|\n]{0,40}\|>|<<\s*/?\s*sys|"
            r"(?:^|\n|[.!?\"'] )[ \t]{0,20}[#*_>-]{0,6}[ \t]{0,20}"
            r"(?:system|assistant|developer|admin(?:istrator)?|root|operator|"
            r"human|user)\s*"
            r"(?:prompt|message|note|notice|instruction|override|update|alert|command)?s?\s*[*_]{0,3}\s*:|"
            r"\b(?:begin|end|start) (?:of )?(?:system|prompt|instructions?|context|data|message|document|user input)\b|"
            r"\bto=functions?\.|</?(?:\w{1,20}:)?(?:function_calls|tool_calls?|tool_results?|transcript|turn|parameter)\b|"
            r"\bend of (?:the )?tool (?:output|result)|"
            # An imitated dialogue, in which the agent speaks second.
            r"(?:^|\n)[^\w\n]{0,3}(?:human|user|customer|operator|reviewer|q)\s?[:>][^\n]{1,400}\n[^\w\n]{0,3}"
            r"(?:ai|agent|assistant|bot|model|a)\s?[:>]|"
            r"(?:^|\n)[ \t]{0,20}#{1,6} \w|\bim_start\b|\bim_end\b|\"role\"\s*:\s*\""
        ),
    ),
)

# Requests to install or to visit: steering only if the agent did nothing of the kind in the episode.
BEYOND: tuple[tuple[str, str, str], ...] = (
    (
        "asks to install something",
        (
            r"(?<!can only )\b(?:install|download|sideload|import(?! statement)|add)(?!ed)\w* "
            r"(?:the |this |our |latest |a |an |and |run |new |\w+ "
            r"){0,4}(?:package|plugin|"
            r"extension|script|tool|update|app|software|binary|module|certificate|agent|helper|patch|library|mcp|"
            r"server|driver|dependenc\w+)\b"
            r"|\b(?:pip3?|npm|pnpm|yarn|cargo|gem|brew|apt(?:-get)?|dnf|yum|go|uv|conda|choco) (?:-\w+ "
            r")*(?:install|add|get|i)(?: -{1,2}[\w=-]+)* "
            r"(?!(?:in|and|or|is|was|has|fails|failed|then|again|alone|works|worked)\b)[\w@./]"
            r"|\binstall (?!(?:packages?|dependencies|missing gems|"
            r"it|them|in|with|and|or|is|was|has|fails|failed)\b)\w+"
        ),
        r"install|download|\badd\b|import",
    ),
    (
        "asks to visit something",
        (
            r"\b(?:visit|open|browse(?: to)?|navigate to|go to|click(?: on)?|check out|head to|follow|access|"
            r"fetch|load|scan)\b.{0,40}"
            r"\b(?:link|url|site|website|web page|webpage|page at|domain|portal|qr|attachment)\b"
        ),
        r"\b(?:visit|open|brows|navigat|go to|click|fetch|url|http|link|site|page)",
    ),
)

# Links, addresses and commands count as steering unless the agent or its user used the same one in the episode.
_TLD = (
    r"(?:com|net|org|info|biz|xyz|ru|cn|top|site|online|app|dev|ai|co|io|me|cc|tk|ml|link|click|live|shop|"
    r"store|cloud|example|"
    r"test|evil|internal|local|invalid|onion|uk|de|fr|eu|us|gov|edu)"
)
# Commands that destroy, escape or run what they fetch. They count even where nobody knows what the agent used.
DESTRUCTIVE: tuple[tuple[str, str], ...] = (
    (
        "carries a command",
        (
            r"\brm -[rf]{1,2}\b[^\n]{0,40}|\|\s*(?:sh|bash|zsh|python3?|perl|iex)\b|\bchmod (?:-r )?[0-7]?777\b|"
            r"\bmkfs\b|\bdd if=|\bnc -\w+|(?<!cannot )\bdrop (?:table|database)\b|\btruncate table\b|"
            r"\bgrant all\b|\bxp_cmdshell\b|\bnet user\b|\breg add\b"
        ),
    ),
)
_PROGRAMS = (
    r"rm|cp|mv|ln|dd|tee|sed|cat|tar|mkdir|touch|chmod|chown|mount|kill|killall|su|sh|bash|zsh|python3?|perl|make|"
    r"install|apt|apt-get|dnf|yum|brew|snap|npm|pip3?|gem|docker|podman|systemctl|service|iptables|ufw|useradd|usermod|"
    r"passwd|visudo|crontab|sysctl|modprobe|reboot|shutdown|mkfs|curl|wget|nano|vim?|git|setenforce"
)
CARRIED: tuple[tuple[str, str], ...] = (
    (
        "carries a link",
        (
            r"\b(?!unix:///)[a-z][a-z0-9+.-]{1,12}://[^\s'\"<>)\]]+|\bdata:[a-z]+/[^\s'\"]+|\bjavascript:[^\s'\"]+|"
            r"\bwww\.[^\s'\"<>)\]]+"
        ),
    ),
    ("carries an address", r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    ("carries a link", rf"(?<![\w./@-])(?:[a-z0-9-]{{1,63}}\.){{1,8}}{_TLD}(?:/[^\s'\"<>)\]]*)?(?![\w(.-])"),
    ("carries a link", r"\bhxxps?\b\S*|\[\.\]\s?\w+|\(dot\) ?\w+|\[dot\] ?\w+|\bdot (?:com|net|org|io|ru)\b"),
    ("carries a link", r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\d.])"),
    *DESTRUCTIVE,
    (
        "carries a command",
        (
            rf"\b(?:curl|wget)\b (?:-\w+ )*(?=\S*[./:]|-)\S+|\bsudo (?:-\w+ )*(?:{_PROGRAMS})\b|\bchmod [+0-7]\S*|"
            r"\bpowershell\b|\bcmd(?:\.exe)? /c|\beval\s?\(|\bexec\s?\(|\bos\.system\s?\(|\bsubprocess\.\w+|"
            r"\bbase64 -d\b|\bdelete from \w+|\bssh \S+@|\bscp \S+|\bcrontab\b|"
            r"\bgit (?:push|remote|config)\b(?! to\b| --set-upstream origin )[^\n]{0,30}|"
            r"\bexport \w+=|\$\([^)\n]{1,200}\)|\bkubectl (?:delete|exec)\b"
        ),
    ),
)

# "Ignore the instructions" and similar texts in other languages: words near each other, without word boundaries.
OTHER_LANGUAGES: tuple[str, ...] = (
    # German
    (
        r"(?:ignorier|missacht|vergiss|umgeh|uberschreib|überschreib)\w*.{0,40}(?:anweisung|regel|vorgabe|"
        r"richtlinie|befehl|prompt)"
    ),
    (
        r"(?:sende|schick|leite|ubermitt|übermitt)\w*.{0,60}(?:passw|schlussel|schlüssel|zugangsdaten|daten "
        r"an|an folgende|geheim)"
    ),
    # French
    r"(?:ignor|oubli|négli|negli|contourn)\w*.{0,40}(?:instruction|consigne|règle|regle|directive)",
    r"(?:envo|transmet|partag|révél|revel)\w*.{0,60}(?:mot de passe|clé|cle api|secret|identifiant|données|donnees)",
    # Spanish and Portuguese
    r"(?:ignor|olvid|omit|esquec|desconsider)\w*.{0,40}(?:instruc|regla|regra|directric|diretri|norma|pol[ií]tica)",
    r"(?:env[ií]|mand|revel|compart)\w*.{0,60}(?:contraseñ|contrasen|senha|clave|chave|secret|segred|credencia)",
    # Italian
    r"(?:ignora|dimentica|trascura)\w*.{0,40}(?:istruzion|regol|direttiv)",
    r"(?:invia|manda|rivela)\w*.{0,60}(?:password|chiave|segret|credenzial)",
    # Dutch
    r"(?:negeer|vergeet|omzeil)\w*.{0,40}(?:instructie|regel|opdracht|richtlijn)",
    # Polish and Czech
    r"(?:zignoruj|ignoruj|zapomni|zapome)\w*.{0,40}(?:instrukcj|polece|zasad|pokyn|pravid)",
    # Turkish
    r"(?:talimat|kural|yönerge).{0,40}(?:yok say|görmezden|unut|yoksay|uyma)",
    # Russian and Ukrainian
    r"(?:игнориру|проигнориру|забуд|обойди|ігнору)\w*.{0,40}(?:инструкц|правил|указани|інструкц|команд)",
    r"(?:отправ|перешл|раскро|покаж|надішл)\w*.{0,60}(?:парол|ключ|секрет|данны|токен)",
    # Chinese
    r"(?:忽略|无视|無視|忘记|忘記|绕过|不要遵守).{0,20}(?:指令|指示|规则|規則|提示|说明|要求)",
    r"(?:发送|發送|泄露|洩露|透露|转发|显示).{0,20}(?:密码|密碼|密钥|金鑰|秘密|凭证|提示词|数据)",
    # Japanese
    r"(?:指示|命令|ルール|規則|プロンプト).{0,20}(?:無視|忘れ|従わな)",
    r"(?:パスワード|秘密|鍵|キー|認証情報).{0,20}(?:送信|送っ|送れ|教え|公開|表示)",
    # Korean
    r"(?:지시|명령|규칙|프롬프트).{0,20}(?:무시|잊)",
    r"(?:비밀번호|비밀|키|자격).{0,20}(?:보내|전송|공개|알려)",
    # Arabic, Hebrew, Hindi
    r"(?:تجاهل|انس|تجاوز).{0,40}(?:تعليمات|قواعد|أوامر|التعليمات|القواعد)",
    r"(?:أرسل|ارسل|اكشف).{0,40}(?:كلمة|مفتاح|سر|بيانات)",
    r"(?:התעלם|תתעלם|שכח|עקוף).{0,40}(?:הוראות|ההוראות|כללים|הנחיות)",
    r"(?:निर्देश|नियम).{0,40}(?:अनदेखा|नज़रअंदाज़|भूल|उपेक्षा)",
    # Vietnamese, Indonesian
    r"(?:bỏ qua|quên).{0,40}(?:hướng dẫn|chỉ dẫn|quy tắc|lệnh)",
    r"(?:abaikan|lupakan)\w*.{0,40}(?:instruksi|perintah|aturan)",
    # Latin: not used in attacks, but in demonstrations
    r"\bignora\b.{0,40}\b(?:mandata|praecepta)",
)
