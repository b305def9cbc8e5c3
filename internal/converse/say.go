package converse

// phrases are what we say ourselves, in one language.
type phrases struct {
	help, nothing, down, noModel, sources, looked        string
	rememberWhat, remembered, secretLeftOut              string
	forgetWhat, forgetThis, forgotten                    string
	nothingPending, nothingShown, status, readOnly, left string
}

var english = phrases{
	help: `Ask me anything about your work with coding agents: I look into your memory and say where it is from.

/remember TEXT – keep something
/sources – where the last answer is from
/forget 2, /forget last or /forget WORDS – delete something; I ask before I do
/status – how the memory is
/unpair – I do not know you any more

If your app keeps the slash for itself, write !remember and so on.`,
	nothing:        "I find nothing about that. Other words may help.",
	down:           "The memory cannot be asked now; that says nothing about what it holds. Try again in a while.",
	noModel:        "(The model did not answer; these are the passages that fit best.)",
	sources:        "Sources:",
	looked:         "I looked at:",
	rememberWhat:   "What am I to remember? Write it behind the command: /remember the gate closes at noon",
	remembered:     "Remembered: %s",
	secretLeftOut:  "Something in it looks like a secret; that I have left out. You may want to delete your message.",
	forgetWhat:     "What am I to forget? /forget 2 of the last sources, /forget last, or /forget and some words.",
	forgetThis:     "Forget this for good?\n\n%s\n– %s\n\nWrite /forget yes within two minutes.",
	forgotten:      "Forgotten: %s",
	nothingPending: "There is nothing to confirm. Name what is to be forgotten first.",
	nothingShown:   "I have shown nothing that this could be.",
	status:         "The memory is there: %d memories of %d sessions.",
	readOnly:       "It cannot keep anything new at the moment.",
	left:           "You are not paired any more. The owner can pair you again with a new code.",
}

var mandarin = phrases{
	help: `可以问我关于您与编程助手一起工作的任何问题：我会查找记忆，并说明出处。

/记住 内容 – 记下一件事（/remember）
/来源 – 上一个回答的出处（/sources）
/忘记 2、/忘记 最后 或 /忘记 关键词 – 删除一条记忆，删除前会先确认（/forget）
/状态 – 记忆的状态（/status）
/取消配对 – 我不再认识您（/unpair）

如果您的应用不允许以斜杠开头，可以写 !记住 等。`,
	nothing:        "没有找到相关的内容，可以换个说法再试。",
	down:           "现在无法查询记忆；这并不说明里面有没有相关内容。请稍后再试。",
	noModel:        "（模型没有回答，以下是最相关的原文。）",
	sources:        "出处：",
	looked:         "查看过：",
	rememberWhat:   "要记住什么？请写在命令后面，例如：/记住 闸门中午关闭",
	remembered:     "已记住：%s",
	secretLeftOut:  "其中有像密钥的内容，没有保存。建议您删除那条消息。",
	forgetWhat:     "要忘记什么？可以用 /忘记 2（上次出处的编号）、/忘记 最后，或 /忘记 加关键词。",
	forgetThis:     "要永久删除这条记忆吗？\n\n%s\n– %s\n\n请在两分钟内回复：/忘记 是",
	forgotten:      "已忘记：%s",
	nothingPending: "没有需要确认的内容，请先说明要忘记什么。",
	nothingShown:   "我还没有显示过这样的内容。",
	status:         "记忆正常：共 %d 条，来自 %d 次会话。",
	readOnly:       "目前无法保存新的内容。",
	left:           "您已取消配对。所有者可以用新的配对码重新配对。",
}
