-- -*- lua -*-
-- Module file created by spack (https://github.com/spack/spack) on 2026-11-28 20:30:28.420612
--
-- seatrial@1.0.0+engines build_system=generic arch=linux-debian12-x86_64/ludtifd
--

whatis([[Name : seatrial]])
whatis([[Version : 1.0.0]])
whatis([[Target : x86_64]])
whatis([[Short description : Acceptance and regression trials for HPC file systems, as a ReFrame suite.]])

help([[Name   : seatrial]])
help([[Version: 1.0.0]])
help([[Target : x86_64]])
help()
help([[Acceptance and regression trials for HPC file systems, as a ReFrame
suite.]])


depends_on("seatrial/fio/3.37")
depends_on("seatrial/ior/4.0.0")

prepend_path("PATH", "/opt/seatrial/opt/linux-x86_64/seatrial-1.0.0-ludtifd3fx74x42b2ksly3lphhwjt7cr/bin", ":")
prepend_path("CMAKE_PREFIX_PATH", "/opt/seatrial/opt/linux-x86_64/seatrial-1.0.0-ludtifd3fx74x42b2ksly3lphhwjt7cr/.", ":")
setenv("SEATRIAL_ROOT", "/opt/seatrial/opt/linux-x86_64/seatrial-1.0.0-ludtifd3fx74x42b2ksly3lphhwjt7cr")

