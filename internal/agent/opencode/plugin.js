// Written by Ambry. "ambry disconnect opencode" removes this file.
//
// OpenCode has no hooks that run a program, so this runs it: before a prompt is
// sent, to add what earlier sessions have on it, and after a turn, to keep what
// was said. Whatever goes wrong here, OpenCode goes on as without it.
/* call */

const textOf = (parts) =>
  (parts ?? [])
    .filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
    .map((part) => part.text)
    .join("\n")

export const Ambry = async ({ client, directory }) => {
  const subagents = new Set()

  // turn returns what was asked last in a session, and what was answered.
  async function turn(sessionID) {
    const { data } = await client.session.messages({ path: { id: sessionID } })
    const messages = data ?? []
    const asked = messages.findLastIndex((message) => message.info.role === "user")
    if (asked < 0) return undefined
    return {
      sessionID,
      cwd: directory,
      turn_id: messages[asked].info.id,
      prompt: textOf(messages[asked].parts),
      answer: messages
        .slice(asked + 1)
        .filter((message) => message.info.role === "assistant")
        .map((message) => textOf(message.parts))
        .filter((text) => text !== "")
        .join("\n\n"),
    }
  }

  return {
    "chat.message": async (input, output) => {
      try {
        const prompt = textOf(output.parts)
        if (prompt === "" || subagents.has(input.sessionID)) return
        const said = { sessionID: input.sessionID, turn_id: output.message?.id, cwd: directory, prompt }
        const { context } = await call("chat.message", said, 2000)
        const first = output.parts.find((part) => part.type === "text")
        if (!context || !first) return
        output.parts.push({ ...first, id: `${first.id}_ambry`, text: context, synthetic: true })
      } catch {}
    },
    event: async ({ event }) => {
      try {
        const info = event.properties?.info
        if (event.type === "session.created" && info?.parentID) subagents.add(info.id)
        if (event.type === "session.deleted") subagents.delete(info?.id)
        const sessionID = event.properties?.sessionID
        if (event.type !== "session.idle" || !sessionID || subagents.has(sessionID)) return
        const said = await turn(sessionID)
        if (said?.prompt && said.answer) await call("session.idle", said, 5000)
      } catch {}
    },
  }
}
