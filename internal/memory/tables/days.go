package tables

// DayMs is a day in milliseconds.
const DayMs = 24 * 60 * 60 * 1000

// DayOf returns the day of a time in milliseconds, also before 1970.
func DayOf(at int64) int64 {
	day := at / DayMs
	if at%DayMs < 0 {
		day--
	}
	return day
}

// MaxDays is how many days the overview goes back.
const MaxDays = 371
