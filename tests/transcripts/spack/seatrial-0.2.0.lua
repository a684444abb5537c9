-- -*- lua -*-
-- Module file created by spack (https://github.com/spack/spack) on 2026-11-28 08:09:21.466504
--
-- seatrial@0.2.0~engines build_system=generic arch=linux-debian12-x86_64/2xskdre
--

whatis([[Name : seatrial]])
whatis([[Version : 0.2.0]])
whatis([[Target : x86_64]])
whatis([[Short description : Acceptance and regression trials for HPC file systems, as a ReFrame suite.]])

help([[Name   : seatrial]])
help([[Version: 0.2.0]])
help([[Target : x86_64]])
help()
help([[Acceptance and regression trials for HPC file systems, as a ReFrame
suite.]])


depends_on("python/3.11.2")

prepend_path("PATH", "/opt/seatrial/opt/linux-x86_64/seatrial-0.2.0-2xskdrelwggw3uy3llp5smwsr2gjektz/bin", ":")
prepend_path("CMAKE_PREFIX_PATH", "/opt/seatrial/opt/linux-x86_64/seatrial-0.2.0-2xskdrelwggw3uy3llp5smwsr2gjektz/.", ":")

