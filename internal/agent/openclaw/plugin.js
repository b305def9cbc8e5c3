// Written by Ambry. "ambry disconnect openclaw" removes this directory.
//
// Before a turn it adds what earlier sessions have on the prompt, and after it
// keeps what was said, by running Ambry's own program. Whatever goes wrong here,
// OpenClaw goes on as without it.
/* call */

const textOf = (content) =>
  typeof content === "string"
    ? content
    : (content ?? [])
        .filter((part) => part.type === "text")
        .map((part) => part.text)
        .join("\n")

const about = (context) => ({
  session_id: context?.sessionId ?? context?.sessionKey,
  cwd: context?.workspaceDir,
})

export default {
  id: "ambry",
  name: "Ambry",
  register(api) {
    const last = new Map() // the prompt that was answered last in a session

    // Newer versions have before_prompt_build, older ones before_agent_start, and
    // some both: the second of them gets nothing.
    const recall = async (event, context) => {
      try {
        const said = about(context)
        if (!event?.prompt || last.get(said.session_id) === event.prompt) return undefined
        last.set(said.session_id, event.prompt)
        const { prependContext } = await call("before_agent_start", { ...said, prompt: event.prompt }, 2000)
        return prependContext ? { prependContext } : undefined
      } catch {
        return undefined
      }
    }
    api.on("before_prompt_build", recall)
    api.on("before_agent_start", recall)

    api.on("agent_end", async (event, context) => {
      try {
        const said = about(context)
        const prompt = last.get(said.session_id)
        last.delete(said.session_id)
        const messages = event?.messages ?? []
        const asked = messages.findLastIndex((message) => message.role === "user")
        const answer = messages
          .slice(asked + 1)
          .filter((message) => message.role === "assistant")
          .map((message) => textOf(message.content))
          .filter((text) => text !== "")
          .join("\n\n")
        if (asked < 0 || answer === "") return
        await call("agent_end", { ...said, prompt: prompt ?? textOf(messages[asked].content), answer }, 5000)
      } catch {}
    })
  },
}
