// Package chromium gives tests a real browser: Chromium without a window, driven by the DevTools protocol through a pipe.
//
// A test opens pages, clicks and types as a person does, and reads what is shown. Page.Log has what the pages wrote to the console:
// messages, errors of scripts, violations of the content security policy and requests that failed.
//
// The browser has a profile of its own and reaches 127.0.0.1 alone. It ends with the test, and also when the test binary is killed,
// since its pipe is closed then.
//
// The browser is the program chromium, chromium-browser or google-chrome of the PATH (Debian: chromium). SWITCHBACK_TEST_CHROMIUM=required
// makes a missing one a failure. Otherwise such a test is skipped with the reason.
package chromium
