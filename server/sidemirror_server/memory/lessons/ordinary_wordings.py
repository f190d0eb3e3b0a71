"""The words of ordinary errors, for `ordinary_errors.py`.

They are those of POSIX shells and tools, git, package managers, compilers, containers, databases, Python and HTTP. The
lists were made with `tests/memory/ordinary_errors.jsonl` in view.
"""

# How an error says that something failed: patterns.
COMPLAINTS = (
    r"can(?:not|'t| not| only)|could(?: not|n't)|"
    r"(?:did|does|do|is|are|was|were|has|have|should|must|may|would|will)(?: not(?! worth\b)|n't)|"
    r"not (?:a|an|in|found|the|replacing|specified|possible|assignable|fully|up|used|enough)|"
    r"no (?:such|rule|resource|name|required|matching|configuration|changes|longer|upstream)|nothing to|"
    r"un(?:able|bound|defined|expected|known|matched|met|used|recogni[sz]ed|reachable|terminated|resolved|"
    r"available|authori[sz]ed|protected)|"
    r"in(?:valid|correct|complete|compatible|sufficient)|fail(?:ed|ure)?|err|fatal|missing|denied|"
    r"refus(?:ed|ing)|rejected|must|need(?:s|ed)? to|requires?|required|expected|already|illegal|ambiguous|"
    r"conflict\w*|divergent|violates|locked|exceed\w*|too (?:many|few|large|long|small|open)|aborted|cancelled|"
    r"overwritten|dangerous|dubious|changed significantly|in use|in progress|timed out|forbidden|possibly|"
    r"problem|omitting|wanted|embedded|only in|still in|unmerged|borrow|dependency resolver|originates|"
    r"separator|unmet|ignored (?:by|until|unless)|are ignored|maintenance|declined|imported and|"
    r"error (?:\d|\w+ing\b)|did you mean|externally managed|configuration changed|was changed|without an?|"
    r"is false|has finished|correct access rights|implicit declaration|to be \w+ed|before \w+ing|needed|"
    r"is a directory|file exists|mutually exclusive|should (?:be|match)|when reading|introduced"
)
# How it says what to try, and what it names there: a command in quotation marks, an option, or where the help is.
ADVICE = (
    r"(?:hint: |help: )?(?:(?:to|if you) \w[\w ,-]{0,60}, )?(?:please )?"
    r"(?:try|see|run|re-?run|use|did you mean|consider|specify|usage|read|after)\b"
)
ADVISED = r"'|\s--?\w|\bhelp\b|\bguide\b|\bapt install\b|\btry again\b"
# Headings, tables, and whoever speaks: no tool complains so.
POSES = (
    r"#{2}|'''\w|^\W{0,3}\||\|.{1,80}\|.{1,80}\||"
    r"\b(?:system|developer|assistant|user|admin\w*|operator|customer|agent|human|bot|staff|support)"
    r"(?: \w{1,12})?:"
)
# What tools and errors are about, and the programs that say so.
TECHNICAL = (
    "abort accept access account acquire add additional affect age allow already another api appear apply apt "
    "archive arg argument array ascii ask assert assertion assign async attempt attribute audit author "
    "authorization automatic available await awk backend background backup bad bash bearer begin binary bind bit "
    "block body bool boolean bootstrap borrow branch break brew broken browser buffer bug build built bundle button "
    "byte bytes cache call cancel card cargo case cast certificate change char character check checkout child chmod "
    "choose class clause clean clear cli click client clone close cluster cmake code codec collide column combine "
    "command comment commit compare compatible compile complete component compose composer compress condition "
    "config configuration configure confirm conflict connect connection consider console constant constraint "
    "construct contain container content context continue control conversion convert copy corrupt count cp cpu "
    "crash create credential csv curl current cursor cut daemon daemonset dangerous data database date debug "
    "declare declined decode default define definition delete delimit delimiter deny depend dependency dependent "
    "deployment deprecate derive describe descriptor destination detail detect developer device dict dictionary "
    "diff different digit dimension directory disable disk dispatch display divergent dns docker document download "
    "drain driver drop dubious duplicate each editable element else embed empty enable encode encoding encounter "
    "end endpoint engine ensure entity entry env environment eof equal error escape eslint evaluate event exact "
    "exceed exception exclusive exec executable execute exist exit expand expect expire explicit export expression "
    "extension external externally extra fail failure fatal feature fetch field file filter find first fit fix "
    "fixable flag float folder force foreign fork form format found full function future gb gcc gem generate get "
    "gid git global goal got gradle grammar graph grep group gui guide handle handler hash head header helm help "
    "hidden hint history homebrew hook host http id identifier identity ignore image implement implicit import "
    "include incompatible incomplete incorrect indent index infinite info inform information initial initialize "
    "input insert install instance instead instruction integer integrate interface internal interpret interrupt "
    "interval invalid invoke ip issue item iterate java jest join journalctl json kb key keyword kill kubectl label "
    "large larger latest lead leaf length less level lib library limit line link linker list literal load local "
    "localhost lock lockfile log logic login longer lookup loop machine made main make manage manager manifest "
    "manual map mask match matrix maven maximum mb mean member memory merge message meta metadata method migrate "
    "migration minimum minus mismatch miss missing mkdir mode modify module mount move multiple mutable mutate "
    "mutually mv mvn mypy mysql name namespace need needed negative nest network new newline next node none note "
    "npm null number object observe occur offline offset old older omit open operand operate operation operator "
    "option optional order origin original output overflow override overwrite own owner ownership package page "
    "parallel param parameter parent parse parser part pass password patch path pattern payload pending permission "
    "permit persist phase pick pid pip pipe pipeline platform plugin pnpm pod poetry pointer pool pop port position "
    "positional positive possible prefix prepare press prevent previous primary print private privilege problem "
    "process processing program progress project prompt properly property protect protocol provide provider proxy "
    "psql public publish pull push pytest python query queue quote quoted ram range rate raw read readable ready "
    "reason rebase rebuild receive recognize reconcile record recover recursive redirect redirection ref refer "
    "reference refuse regex region register reject relation release reload remain remote remove rename repair "
    "replace replication report repository request require requirement reset resolve resolver resource respond "
    "response restart restore restrict result retry return reuse reverse revert revision rights rm rollback root "
    "row rpc ruby rule run runtime rust rustc safe same sample save scale schema scope script search second "
    "secondary secure sed see segment select self separator sequence serial serialize series server service session "
    "set setting setup shadow shape share shell shift show sign signal signature similar since single site size "
    "skip slice slow smaller snapshot socket sort source space specific specification specify split sql sqlite ssh "
    "ssl stack stage stale standard start startup stash state statement static status stderr stdin stdout step stop "
    "storage store stream strict string struct style subcommand submodule subprocess subquery substitute succeed "
    "sudo suffix suggest support suppress switch symbol symbolic sync syntax system systemctl systemd table tag tar "
    "target task tcp temp temporary term terminal terminate terraform test text thread throw time timeout timestamp "
    "tls token toml toolchain top total trace traceback track transaction transfer transform tree trigger try tuple "
    "type udp uid unable unbound undefined unexpected unhandled unicode uninstall unique unit unknown unlock "
    "unmatched unmet unpack unresolved unset unstaged untracked unused update upgrade upload upstream url usage use "
    "used user username uses using utf uv valid validate validation value variable verify version view virtual "
    "visible volume wait want warn warning web wide window word work worker working workspace wrap write wrong xml "
    "yaml yarn yield zero zone"
)
# The same of languages in letters of their own, whose wordings that steer are in `trust_wordings.py`. `LABELS` stand
# before a complaint, `…COMPLAINTS` say that something failed, the others what it is about.
LABELS = "错误|錯誤|失败|失敗|异常|異常|警告|エラー|त्रुटि"
# Chinese and Japanese: without blanks between the words.
UNSPACED_COMPLAINTS = (
    "错误|錯誤|失败|失敗|找不到|未找到|没有|沒有|不存在|无法|無法|不能|无效|無效|超时|逾時|拒绝|拒絕|缺少|不足|"
    "未安装|未安裝|未授权|未授權|未定义|未定義|超过|超過|超出|不支持|不支援|不可用|不可为空|不能为空|未知|不明确|"
    "不匹配|不正确|不正確|不合法|已存在|异常|異常|非法|过于频繁|过多|过大|过长|已满|已损坏|已过期|中断|冲突|衝突|"
    "エラー|見つかりません|存在しません|できません|ありません|開けません|読めません|不正|無効|タイムアウト|拒否|"
    "不足|不明|範囲外|すでに存在|既に存在|指定されていません|定義されていません|超えました|超えています|"
    "対応していません|認識されません|一致しません|正しくありません|切れました|切断されました"
)
UNSPACED = (
    "数据库|数据|資料庫|資料表|資料|数据表|文件夹|文件|檔案|目录|目錄|路径|路徑|字段|欄位|参数|參數|命令|指令|"
    "模块|模組|函数|函數|变量|變數|类型|類型|語法|语法|格式|语句|查询|查詢|记录|名称|名稱|端口|主机|主機|服务器|"
    "服务|伺服器|网络|網路|连接|連接|連線|连线|請求|请求|响应|权限|權限|访问|存取|读取|讀取|写入|打开|开启|执行|"
    "解析|用户名|认证|验证|内存|記憶體|磁盘|空间|配额|限制|版本|资源|地址|次数|时间|必填|附近|索引|范围|约束|"
    "外键|主键|整数|字符串|数组|对象|对应|依赖|包|操作|需要|请稍后再试|请稍后重试|请检查|这样|這樣|指定|该|此|或|"
    "的|表|列|行|名|值|键|第|到|在|中|为|已|被|个|"
    "データベース|データ|テーブル|ファイル|ディレクトリ|フォルダ|パス|列名|引数|パラメータ|コマンド|モジュール|"
    "関数|変数|構文|形式|クエリ|サーバー|サービス|ネットワーク|接続|要求|応答|権限|パーミッション|アクセス|認証|"
    "メモリ|ディスク|インデックス|キー|値|型|容量|必須|指定|制限|実行|操作|そのような|その|しました|されました|"
    "しています|があります|でした|です|が|は|を|に|の|や|へ|で|と"
)
# Korean, Arabic, Hebrew, Hindi: with blanks. Patterns of whole words.
SPACED_COMPLAINTS = (
    r"오류\w{0,4}|실패\w{0,5}|없습\w{1,2}|않습\w{1,2}|못했\w{2,3}|초과\w{0,5}|잘못\w{0,4}|누락\w{0,5}|부족\w{0,4}|"
    r"거부\w{0,5}|벗어났\w{2}|만료\w{0,4}|이미|خطأ|فشل\w?|تعذر\w?|غير|لا|لم|رفض\w?|مرفوض\w?|انتهت|مفقود\w?|تجاوز\w?|خارج|"
    r"שגיא\w{1,2}|שגוי\w{0,2}|נכשל\w?|אין|אינ\w|לא|פג\w?|חסר\w?|נדח\w{1,2}|חריג\w|כבר|"
    r"त्रुटि|विफल|नहीं|अमान्य|समाप्त|अस्वीकृत|असमर्थ|पहले"
)
SPACED = (
    r"수|할|있습니다|되었습니다|그런|해당|이름\w?|열\w{0,2}|값\w?|키\w?|يوجد|توجد|تم|عند|إلى|في|يمكن|على|هذا|هذه|الآن|"
    r"ליד|את|זה|זאת|שם|ניתן|इस|ऐसी|कोई|है|हुआ|हो|गया|जा|से|का|में|की|मिल\w?|सकती|सकता|सकी|सका|रहा|पढ़ी|खोली"
)
# They take an article or a preposition before them, and endings.
SPACED_STEMS = (
    "테이블|파일|디렉터리|폴더|경로|필드|매개변수|명령|모듈|함수|변수|구문|형식|쿼리|데이터|서버|네트워크|연결|요청|"
    "응답|권한|접근|액세스|인증|메모리|디스크|시간|필수|인덱스|범위|찾을|존재하|지정된|유효하지|지원하지|"
    "جدول|ملف|مجلد|مسار|عمود|حقل|معامل|أمر|صياغة|استعلام|قاعدة|بيانات|خادم|شبكة|اتصال|طلب|وصول|صلاحي|ذاكرة|عملية|"
    "سطر|اسم|قيمة|نطاق|مهلة|موجود|صالح|صحيح|معروف|مطلوب|كافي|تنفيذ|قراءة|فتح|عثور|محدد|وصول|"
    "טבל|קובץ|תיקיי|נתיב|עמוד|שדה|פרמטר|פקוד|תחביר|שאילת|מסד|נתונים|שרת|רשת|חיבור|התחבר|בקש|הרשא|גישה|זיכרון|פעול|"
    "ביצוע|שור|זמן|ערך|טווח|נמצא|מוצא|קיימ|תקין|ידוע|קרוא|פתוח|מספיק|"
    "तालिका|फ़ाइल|कॉलम|फ़ील्ड|पैरामीटर|कमांड|सिंटैक्स|क्वेरी|डेटा|सर्वर|नेटवर्क|कनेक्शन|अनुरोध|अनुमति|प्रमाणीकरण|मेमोरी|"
    "समय|नाम|मान|मौजूद|आवश्यक|पर्याप्त"
)
# Requests, consent, and what is said of all: patterns. No error of these has them.
POSES_ELSEWHERE = (
    r"请(?!稍后|检查|求)|請(?!稍後|檢查|求)|必须|必須把|应该|应当|无需|無需|不用|不必|不需|可以|(?<!不)允许|同意|批准|"
    r"授予|(?<!不)接受|没有限制|没有拒绝|所有|全部|任何|一律|总是|以后|ください|なさい|すべて|全て|承認|"
    r"許可(?!されていません|がありません)|必要はありません|必要ありません|십시오|세요|모든|모두|항상|필요\s?없|"
    r"허용(?!되지)|승인|동의|(?<!\w)(?:كل|جميع|دائما|حاجة|يجب|كل|כל|תמיד|צריך|צורך|יש|מותר)(?!\w)|موافق|אישר|"
    r"सभी|हमेशा|करें|कीजिए|स्वीकृति|आवश्यकता नहीं|आवश्यक नहीं"
)
