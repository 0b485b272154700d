// Sets the remembered colour scheme before anything is drawn, so that no other one is seen first.
try {
	const scheme = localStorage.getItem("madang.scheme");
	if (scheme === "light" || scheme === "dark") document.documentElement.dataset.scheme = scheme;
} catch {
	// Where storage is forbidden, the system's scheme stays.
}
