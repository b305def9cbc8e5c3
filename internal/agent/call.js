import { spawn } from "node:child_process"

const command = [/* command */]

function call(event, said, patience) {
  return new Promise((resolve) => {
    let out = ""
    let child
    const done = (answer) => {
      clearTimeout(timer)
      resolve(answer)
    }
    const timer = setTimeout(() => {
      child?.kill()
      done({})
    }, patience)
    try {
      child = spawn(command[0], [...command.slice(1), event], { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
      child.on("error", () => done({}))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (data) => (out += data))
      child.on("close", () => {
        try {
          done(out.trim() === "" ? {} : JSON.parse(out))
        } catch {
          done({})
        }
      })
      child.stdin.end(JSON.stringify(said))
    } catch {
      done({})
    }
  })
}
