"""The deterministic algorithms of Zhang & Li (2021), transcribed line by line: the test oracle."""
