package simulation

// A world is played by a process of its own, the test binary of this package. This is what it is told, and how it answers.
const (
	EnvPlan    = "SWITCHBACK_SIMULATION_PLAN" // the plan, as plan.Plan.Text writes it
	EnvLogs    = "SWITCHBACK_SIMULATION_LOGS" // anything: the engines' logs go to the standard output
	ResultMark = "simulated world: "          // what the line with the result begins with
)
